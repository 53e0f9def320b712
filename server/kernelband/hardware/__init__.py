"""Device specs, occupancy, roofline, forecast."""

from kernelband.hardware.device import Device as Device
