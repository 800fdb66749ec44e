"""Tests of the system call filter with an interpreter of its program."""

import struct

import pytest

from app.drivers.sandbox.local.supervisor.jail_process import AUDIT_ARCH, REFUSED, filter_program

ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026


def verdict(machine: str, number: int, argument: int = 0, arch: int | None = None) -> int:
    """Run the program on the data of one call. Return its verdict."""
    code = filter_program(machine)
    assert code is not None
    data = struct.pack("=IIQ6Q", number, AUDIT_ARCH[machine] if arch is None else arch, 0, argument, 0, 0, 0, 0, 0)
    steps = [struct.unpack_from("=HBBI", code, at) for at in range(0, len(code), 8)]
    at, value = 0, 0
    for _ in range(len(steps)):
        kind, if_true, if_false, operand = steps[at]
        at += 1
        if kind == 0x20:
            value = struct.unpack_from("=I", data, operand)[0]
        elif kind == 0x15:
            at += if_true if value == operand else if_false
        elif kind == 0x45:
            at += if_true if value & operand else if_false
        else:
            return operand
    raise AssertionError("no verdict")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
class TestProgram:
    def test_refused_call_returns_eperm(self, machine: str) -> None:
        column = list(AUDIT_ARCH).index(machine)
        for name, numbers in REFUSED.items():
            number = numbers[column]
            assert number is None or verdict(machine, number) == EPERM, name

    def test_ordinary_calls_are_allowed(self, machine: str) -> None:
        ordinary = {"x86_64": [0, 1, 9, 59, 202, 257], "aarch64": [56, 63, 64, 98, 221, 222]}[machine]
        assert {verdict(machine, number) for number in ordinary} == {ALLOW}

    def test_threads_are_allowed_and_namespaces_are_not(self, machine: str) -> None:
        clone = {"x86_64": 56, "aarch64": 220}[machine]
        assert verdict(machine, clone, 0x003D0F00) == ALLOW
        for flag in (0x10000000, 0x20000000, 0x40000000, 0x00020000, 0x02000000):
            assert verdict(machine, clone, flag | 17) == EPERM

    def test_clone3_returns_enosys(self, machine: str) -> None:
        assert verdict(machine, 435) == ENOSYS

    def test_call_of_another_architecture_kills_the_process(self, machine: str) -> None:
        assert verdict(machine, 1, arch=0x40000003) == KILL


def test_x32_call_returns_enosys() -> None:
    assert verdict("x86_64", 0x40000000 + 1) == ENOSYS


def test_unknown_machine_has_no_filter() -> None:
    assert filter_program("riscv64") is None
