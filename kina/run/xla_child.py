"""Executes a module on the devices that jax sees, in a process of its own: some modules abort the process.

`python -m kina.run.xla_child` reads messages of `kina.run.wire` from the standard input: the mesh first,
then what to do. Arguments and results are one array for each device, in the order of the mesh; results stay
on the devices until the next ones take their place.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass, field
from io import BufferedReader
from time import perf_counter, sleep
from typing import Any

import numpy as np

from kina.run.wire import Message, receive
from kina.run.xla_devices import begin, check
from kina.run.xla_meeting import Meeting, last_words, meet
from kina.run.xla_watch import Watch
from kina.sim.dtypes import Array

#: Seconds in which the watch ends this process.
_END = 10


def main() -> None:
    """Serve until told to leave; what is wrong is the last answer."""
    assert isinstance(sys.stdin.buffer, BufferedReader)
    # a terminal interrupts the parent too, which then ends this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # libraries print to the standard output, which is for answers alone
    watch = Watch(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    try:
        served: Served | None = None
        while (asked := receive(sys.stdin.buffer)) is not None:
            message, arrays = asked
            if message.get("do") == "leave":
                watch.leaving = True
                return
            if served is None:
                served = _begun(message, watch)
                watch.answer(served.introduction())
            else:
                watch.answer(*served.answer(message, arrays))
    except Exception as problem:  # whatever XLA raises is about the module, or about another process
        watch.fail(last_words(watch.meeting, problem))
    # the parent has gone, which the watch tells the others
    sleep(_END)


def _begun(message: Message, watch: Watch) -> Served:
    """The devices of the first message, after the other processes have come and agree on what to run."""
    import jax

    mesh, platform, processes = message["mesh"], message["platform"], message["processes"]
    check(mesh, processes or 1)
    if message["coordinator"] is not None:
        meeting = meet(message["coordinator"], processes, message["process"], message["patience"])
        alike = [(name, verb, value) for name, verb, value in message["alike"]]
        count = f"`--processes {meeting.count}`"
        watch.meeting = meeting
        meeting.agree([("jax", "runs", f"jax {jax.__version__}"), ("processes", "was given", count), *alike])
    together = watch.meeting.count if watch.meeting is not None else 1
    return Served(begin(mesh, platform, together), watch.meeting)


def compiled(text: str, devices: list[Any]) -> Any:
    """What XLA makes of a module whose device `i` is `devices[i]`."""
    from jax.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    options = xla_client.CompileOptions()
    options.num_partitions, options.num_replicas = len(devices), 1
    options.executable_build_options.num_partitions = len(devices)
    options.executable_build_options.use_spmd_partitioning = True
    ids = np.array([[device.id for device in devices]])
    options.device_assignment = xla_client.DeviceAssignment.create(ids)
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        return devices[0].client.compile_and_load(module, xla_client.DeviceList(tuple(devices)), options)


@dataclass(slots=True)
class Served:
    """Devices, what was compiled for them, the arguments of the next run, and the results of the last one."""

    devices: list[Any]
    meeting: Meeting | None = None
    loaded: Any = None
    arguments: dict[int, Any] = field(default_factory=dict)
    results: list[dict[int, Any]] = field(default_factory=list)
    ready: bool = False

    @property
    def here(self) -> list[int]:
        """The devices of this process."""
        import jax

        return [n for n, device in enumerate(self.devices) if device.process_index == jax.process_index()]

    def introduction(self) -> Message:
        import jax

        process = [jax.process_index(), jax.process_count()]
        return {"platform": self.devices[0].platform, "devices": self.here, "process": process}

    def answer(self, message: Message, arrays: list[Array]) -> tuple[Message, list[Array]]:
        match message["do"]:
            case "compile":
                self.loaded = compiled(message["module"], self.devices)
            case "put":
                self.arguments[message["argument"]] = self._placed([arrays[n] for n in message["parts"]])
            case "keep":
                parts = self.results[message["result"]]
                self.arguments[message["argument"]] = self._joined([parts[device] for device in self.here])
            case "run":
                return {"seconds": self._run()}, []
            case "fetch":
                return self._fetched(self.results[message["result"]], message["alike"])
            case "gather":
                parts = self.results[message["result"]]
                return {}, [self._gathered(parts, device) for device in message["devices"]]
            case "agree":
                return {"fine": self._agreed(message["fine"])}, []
        return {}, []

    def _placed(self, parts: list[Array]) -> Any:
        import jax

        devices = [self.devices[number] for number in self.here]
        return self._joined(
            [jax.device_put(part, device) for part, device in zip(parts, devices, strict=True)]
        )

    def _sharding(self, *axes: str) -> Any:
        import jax

        mesh = jax.sharding.Mesh(np.array(self.devices), ("device",))
        spec: Any = jax.sharding.PartitionSpec
        return jax.sharding.NamedSharding(mesh, spec(*axes))

    def _joined(self, parts: list[Any]) -> Any:
        """One array for jax whose part on each device is what the module sees there."""
        import jax

        return jax.make_array_from_single_device_arrays(parts[0].shape, self._sharding(), parts)

    def _run(self) -> float:
        arguments = [self.arguments[index] for index in sorted(self.arguments)]
        self.arguments.clear()
        self.results.clear()
        numbers = {device.id: number for number, device in enumerate(self.devices)}
        if self.meeting is not None and not self.ready:
            self.meeting.ready()
            self.ready = True
        start = perf_counter()
        arrays = self.loaded.execute_sharded(arguments).disassemble_into_single_device_arrays()
        for parts in arrays:
            for part in parts:
                part.block_until_ready()
        seconds = perf_counter() - start
        for parts in arrays:
            self.results.append({numbers[next(iter(part.devices())).id]: part for part in parts})
        return seconds

    def _fetched(self, parts: dict[int, Any], alike: list[int]) -> tuple[Message, list[Array]]:
        """The part of each device; those with one number that agree in every bit are sent once."""
        arrays: list[Array] = []
        known: dict[int, list[int]] = {}
        places = []
        for device, number in zip(self.here, alike, strict=True):
            array = np.asarray(parts[device])
            same = (at for at in known.get(number, ()) if _same_bits(array, arrays[at]))
            at = next(same, len(arrays))
            if at == len(arrays):
                arrays.append(array)
                known.setdefault(number, []).append(at)
            places.append(at)
        return {"parts": places}, arrays

    def _gathered(self, parts: dict[int, Any], device: int) -> Array:
        """The part of a device, which may be in another process; each device sees this one part only."""
        import jax

        given = [parts[number][None] for number in self.here]
        shape = (len(self.devices), *given[0].shape[1:])
        joined = jax.make_array_from_single_device_arrays(shape, self._sharding("device"), given)
        found = jax.jit(_one_part, out_shardings=self._sharding())(joined, device).addressable_shards[0].data
        return np.asarray(found).view(np.dtype(given[0].dtype))

    def _agreed(self, fine: bool) -> bool:
        import jax
        import jax.numpy as jnp

        given = [jax.device_put(np.array([fine]), self.devices[number]) for number in self.here]
        shape, sharding = (len(self.devices),), self._sharding("device")
        joined = jax.make_array_from_single_device_arrays(shape, sharding, given)
        return bool(jax.jit(jnp.all, out_shardings=self._sharding())(joined).addressable_shards[0].data)


def _same_bits(one: Array, two: Array) -> bool:
    return np.array_equal(one.reshape(-1).view(np.uint8), two.reshape(-1).view(np.uint8))


def _one_part(joined: Any, number: Any) -> Any:
    """The bits of one row of an array that has a row on each device: the sum of it and of zeros elsewhere."""
    import jax
    import jax.numpy as jnp

    if joined.dtype == bool:
        raw = joined.astype(jnp.uint8)
    else:
        raw = jax.lax.bitcast_convert_type(joined, jnp.dtype(f"uint{8 * joined.dtype.itemsize}"))
    wanted = jax.lax.broadcasted_iota(jnp.int32, raw.shape, 0) == number
    return jnp.sum(jnp.where(wanted, raw, jnp.zeros((), raw.dtype)), 0, raw.dtype)


if __name__ == "__main__":
    main()
