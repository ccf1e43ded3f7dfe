"""Packets of a pod that lead nowhere: heard of, and refused at once.

Where they are sent to no route leads, so that the kernel drops them; that alone would look like a
slow network. Its own refusals come at most once a second, so that ours are sent beside them.

A raw socket at this node's end of the link, with a filter of the kernel's that lets by what begins
a TCP connection and what is no TCP; all else that passes costs us nothing.
"""

import socket
import struct
from dataclasses import dataclass
from ipaddress import IPv4Address

from ...models.egress_seen import RefusedAs

SO_ATTACH_FILTER = 26  # asm-generic/socket.h
ETH_P_IP = 0x0800
TCP, UDP = 6, 17
SYN, ACK = 0x02, 0x10
KEPT_BYTES = 128
LONGEST = 2048
FRAGMENT = 0x1FFF
UNREACHABLE, PROHIBITED = 3, 13

# Classic BPF on a packet from its IP header on: (code, jump if true, jump if false, constant).
PROGRAM = (
    (0x30, 0, 0, 9),  # ldb [9]: the protocol
    (0x15, 0, 6, TCP),  # no TCP: keep
    (0x28, 0, 0, 6),  # ldh [6]: flags and fragment offset
    (0x45, 5, 0, FRAGMENT),  # a later fragment: drop
    (0xB1, 0, 0, 0),  # ldx 4*([0]&0xf): the length of the IP header
    (0x50, 0, 0, 13),  # ldb [x + 13]: TCP's flags
    (0x54, 0, 0, SYN | ACK),  # and
    (0x15, 0, 1, SYN),  # SYN alone: keep; else drop
    (0x06, 0, 0, KEPT_BYTES),
    (0x06, 0, 0, 0),
)


@dataclass(frozen=True, slots=True)
class Tried:
    """The begin of something: where it was to go. `port` None: of a protocol without ports."""

    to: IPv4Address
    port: int | None
    how: RefusedAs


def listen() -> socket.socket:
    """A socket on what comes into the network that this thread is in, by whatever link.

    Raises:
        OSError: it may not be had (it needs NET_RAW).
    """
    made = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
    try:
        code = b"".join(struct.pack("HBBI", *step) for step in PROGRAM)
        _attach(made, code)
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return made


def _attach(made: socket.socket, code: bytes) -> None:
    import ctypes

    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HL", len(PROGRAM), ctypes.addressof(held))
    made.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


def refusal(packet: bytes) -> bytes:
    """An ICMP message that tells a packet's sender that it may not be sent: destination
    unreachable, administratively prohibited. Source: RFC 792, RFC 1812 5.2.7.1."""
    quoted = packet[: 4 * (packet[0] & 15) + 8]
    message = struct.pack("!BBHI", UNREACHABLE, PROHIBITED, 0, 0) + quoted
    return message[:2] + _checksum(message).to_bytes(2) + message[4:]


def _checksum(message: bytes) -> int:
    padded = message + b"\0" * (len(message) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def read(packet: bytes) -> Tried | None:
    """What a packet begins, from its IP header on; None: nothing that can be read."""
    if len(packet) < 20 or packet[0] >> 4 != 4:
        return None
    start, protocol = 4 * (packet[0] & 15), packet[9]
    to = IPv4Address(packet[16:20])
    first = not struct.unpack_from("!H", packet, 6)[0] & FRAGMENT
    if protocol not in (TCP, UDP) or not first or len(packet) < start + 4:
        return Tried(to, None, "ip")
    port = struct.unpack_from("!H", packet, start + 2)[0]
    return Tried(to, port, "tcp" if protocol == TCP else "udp")
