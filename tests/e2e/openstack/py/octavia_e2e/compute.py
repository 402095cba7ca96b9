"""Octavia compute driver of the test cloud: the noop driver, plus the mark of a port.

Octavia asks Nova to attach a port to an amphora that replaces another one.
Afterwards it looks for the ports of the amphora by their device.
"""
from octavia.common import utils
from octavia.compute.drivers.noop_driver import driver as noop


class E2EComputeDriver(noop.NoopComputeDriver):

    def attach_network_or_port(self, compute_id, network_id=None,
                               ip_address=None, port_id=None):
        if port_id:
            utils.get_network_driver().mark(port_id, compute_id)
