"""Octavia compute driver of the test cloud with real amphorae: virtual machines of this host.

Each is a process group of its own (uml.py, emulated.py), on a root that all of them read. Its
directory, amphorae/ID in the state of the cloud, has

    files/   the files that Octavia wants in it
    nics     a line for each network card so far: port, MAC address, addresses with lengths
    kernel/  of the running machine: pid, and a socket for commands

The ports are Neutron's. Those that this driver creates, as Nova would, have a name with PREFIX
and are deleted with the machine.
"""
import os
import shutil
import signal
import subprocess
import types
import uuid

import openstack
from octavia.common import data_models
from octavia.common import keystone
from octavia.compute import compute_base
from oslo_config import cfg

from octavia_e2e import emulated
from octavia_e2e import uml

CONF = cfg.CONF
STATE = os.path.join(os.environ['E2E_STATE'], 'amphorae')
LOG = os.path.join(os.environ['E2E_STATE'], 'log')
IMAGE = os.environ.get('AMPHORA_IMAGE', '')
MACHINES = os.path.join(os.path.dirname(__file__), '..', '..', 'machines.sh')
KIND = emulated if os.environ.get('AMPHORA') == 'tcg' else uml
PREFIX = 'amphora-of-'


def directory(compute_id, *names):
    return os.path.join(STATE, compute_id, *names)


def run(*args):
    result = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, timeout=120)
    if result.returncode:
        raise RuntimeError('%s: %s' % (' '.join(args), result.stdout.decode()))


def device(port_id):
    """The name of the port's tap, as machines.sh has it."""
    return 'amp' + port_id[:8]


def process(compute_id):
    """Of the machine; None if it does not run."""
    try:
        with open(directory(compute_id, 'kernel', 'pid')) as f:
            pid = int(f.read())
        os.kill(pid, 0)
        return pid
    except (OSError, ValueError):
        return None


class MachineComputeDriver(compute_base.ComputeBase):

    def _network(self):
        return openstack.connection.Connection(
            session=keystone.KeystoneSession().get_session(),
            region_name=CONF.neutron.region_name).network

    def _ports(self, compute_id):
        return list(self._network().ports(device_id=compute_id))

    def _create_port(self, compute_id, network_id, **kw):
        return self._network().create_port(
            name=PREFIX + compute_id, network_id=network_id, device_id=compute_id,
            device_owner='compute:nova', binding_host_id=os.environ['E2E_HOST'], **kw)

    def _own_port(self, compute_id, port_id):
        return self._network().update_port(
            port_id, device_id=compute_id, device_owner='compute:nova',
            binding_host_id=os.environ['E2E_HOST'])

    def _release_port(self, port):
        run(MACHINES, 'untap', device(port.id))
        if port.name.startswith(PREFIX):
            self._network().delete_port(port.id)
        else:
            self._network().update_port(
                port.id, device_id='', device_owner='', binding_host_id='')

    def _plug(self, compute_id, port):
        """Connects a port; returns the card."""
        addresses = []
        for ip in port.fixed_ips:
            subnet = self._network().get_subnet(ip['subnet_id'])
            addresses.append(ip['ip_address'] + '/' + subnet.cidr.split('/')[1])
        run(MACHINES, 'tap', device(port.id), port.id, port.mac_address)
        with open(directory(compute_id, 'nics'), 'a+') as f:
            f.seek(0)
            number = len(f.readlines())
            print(port.id, port.mac_address, *addresses, file=f)
        return KIND.card(number, device(port.id), port.mac_address)

    def build(self, name='', sec_groups=None, network_ids=None, port_ids=None,
              config_drive_files=None, **_):
        compute_id = str(uuid.uuid4())
        for path, content in config_drive_files.items():
            path = directory(compute_id, 'files', path.lstrip('/'))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if hasattr(content, 'read'):
                content = content.read()
            with open(path, 'w' if isinstance(content, str) else 'wb') as f:
                f.write(content)
        with open(directory(compute_id, 'files', 'etc', 'hostname'), 'w') as f:
            f.write(name)
        ports = [self._create_port(compute_id, n, security_group_ids=sec_groups)
                 for n in network_ids or []]
        ports += [self._own_port(compute_id, p) for p in port_ids or []]
        cards = [self._plug(compute_id, p) for p in ports]
        with open(os.path.join(LOG, 'amphora-%s.log' % compute_id), 'w') as console:
            KIND.boot(IMAGE, directory(compute_id), console, cards)
        return compute_id

    def delete(self, compute_id):
        pid = process(compute_id)
        if pid:
            os.killpg(pid, signal.SIGKILL)
        for port in self._ports(compute_id):
            self._release_port(port)
        shutil.rmtree(directory(compute_id), ignore_errors=True)

    def status(self, compute_id):
        return 'UP' if process(compute_id) else 'DOWN'

    def get_amphora(self, compute_id, management_network_id=None):
        networks = [management_network_id] if management_network_id else CONF.controller_worker.amp_boot_network_list
        ip = next((p.fixed_ips[0]['ip_address'] for p in self._ports(compute_id)
                   if p.network_id in networks), None)
        alive = process(compute_id)
        return data_models.Amphora(
            compute_id=compute_id, status='ACTIVE' if alive else 'ERROR', lb_network_ip=ip,
            cached_zone='nova',
        ), None if alive else 'it does not run'

    def attach_network_or_port(self, compute_id, network_id=None, ip_address=None, port_id=None):
        if port_id:
            port = self._own_port(compute_id, port_id)
        else:
            port = self._create_port(compute_id, network_id, **(
                {'fixed_ips': [{'ip_address': ip_address}]} if ip_address else {}))
        KIND.plug(directory(compute_id), self._plug(compute_id, port))
        return types.SimpleNamespace(
            port_id=port.id, net_id=port.network_id, fixed_ips=list(port.fixed_ips),
            mac_addr=port.mac_address)

    def detach_port(self, compute_id, port_id):
        port = self._network().find_port(port_id)
        if port:
            self._release_port(port)

    def create_server_group(self, name, policy):
        return types.SimpleNamespace(id=str(uuid.uuid4()), name=name)

    def delete_server_group(self, server_group_id):
        pass

    def validate_flavor(self, flavor_id):
        pass

    def validate_availability_zone(self, availability_zone):
        pass
