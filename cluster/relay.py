"""Copies frames between two network devices, each so many seconds late: `relay.py DEVICE DEVICE SECONDS`.

The same that `tc netem delay` does, where the kernel lacks it. It runs until it is killed, imports nothing of its own.
"""

import heapq
import select
import socket
import sys
import time

_ALL_PROTOCOLS = 3
_SOL_PACKET, _VNET_HEADER, _IGNORE_OUTGOING = 263, 15, 23
_FRAME = 70_000  # bytes: the kernel hands over several packets as one
_MOST = 20_000  # frames under way; more are dropped, as a router drops them


def opened(device: str) -> socket.socket:
    """A socket that hears what arrives at a device, with the header by which checksums left open are kept open."""
    result = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS))
    result.setsockopt(_SOL_PACKET, _VNET_HEADER, 1)
    result.setsockopt(_SOL_PACKET, _IGNORE_OUTGOING, 1)
    result.bind((device, 0))
    result.setsockopt(_SOL_PACKET, 1, _promiscuous(device))  # PACKET_ADD_MEMBERSHIP
    result.setblocking(False)
    return result


def _promiscuous(device: str) -> bytes:
    """A struct packet_mreq: frames for any address are heard."""
    index = socket.if_nametoindex(device)
    return index.to_bytes(4, sys.byteorder) + (1).to_bytes(2, sys.byteorder) + bytes(10)


def main(first: str, second: str, seconds: float) -> None:
    sockets = [opened(first), opened(second)]
    other = {sockets[0]: sockets[1], sockets[1]: sockets[0]}
    waiting: list[tuple[float, int, bytes, socket.socket]] = []
    count = 0
    while True:
        patience = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for receiver in select.select(sockets, [], [], patience)[0]:
            try:
                frame = receiver.recv(_FRAME)
            except BlockingIOError:
                continue
            if len(waiting) < _MOST:
                count += 1
                heapq.heappush(waiting, (time.monotonic() + seconds, count, frame, other[receiver]))
        while waiting and waiting[0][0] <= time.monotonic():
            _due, _number, frame, target = heapq.heappop(waiting)
            try:
                target.send(frame)
            except OSError:  # the device is down, or its queue is full: lost, as on a wire
                continue


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
