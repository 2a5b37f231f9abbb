#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A TCP relay on loopback that makes servers seem far away.

    delay.py MILLISECONDS PORT...

Prints the ports it listens on, in the order of the given ones, which it relays to. What a server sends reaches its
client MILLISECONDS later, and what it sends meanwhile does not wait longer; what a client sends is passed on at once.
TLS and HTTP/2 go through as they are.
"""

import asyncio
import sys

CHUNK_BYTES = 64 * 1024
HOST = "127.0.0.1"


async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while chunk := await source.read(CHUNK_BYTES):
        sink.write(chunk)
        await sink.drain()
    sink.write_eof()


async def pass_on_later(source: asyncio.StreamReader, sink: asyncio.StreamWriter, delay_s: float) -> None:
    loop = asyncio.get_running_loop()
    on_the_way = asyncio.Queue()

    async def deliver() -> None:
        while True:
            due, chunk = await on_the_way.get()
            await asyncio.sleep(due - loop.time())
            if not chunk:
                sink.write_eof()
                return
            sink.write(chunk)
            await sink.drain()

    delivery = asyncio.create_task(deliver())
    try:
        chunk = True
        while chunk:
            chunk = await source.read(CHUNK_BYTES)
            on_the_way.put_nowait((loop.time() + delay_s, chunk))
        await delivery
    finally:
        delivery.cancel()


async def relay(client_reader, client_writer, port: int, delay_s: float) -> None:
    try:
        server_reader, server_writer = await asyncio.open_connection(HOST, port)
    except OSError:
        client_writer.transport.abort()
        return
    try:
        async with asyncio.TaskGroup() as both:
            both.create_task(pass_on(client_reader, server_writer))
            both.create_task(pass_on_later(server_reader, client_writer, delay_s))
    except* OSError:
        pass  # One side went away without a goodbye.
    finally:
        for writer in (client_writer, server_writer):
            writer.close()


async def main(milliseconds: str, *targets: str) -> None:
    delay_s = int(milliseconds) / 1000
    servers = [
        await asyncio.start_server(
            lambda reader, writer, port=int(target): relay(reader, writer, port, delay_s), HOST, 0, backlog=512
        )
        for target in targets
    ]
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        pass
