"""Octavia network driver of the test cloud.

Everything that Neutron can see is done for real, exactly as the
allowed-address-pairs driver does it (VIP port, additional VIPs, security
group of the VIP and its rules, VRRP port, member-network ports).  Only the
two places where that driver asks Nova to attach or detach an interface are
replaced: there is no amphora instance, so the Neutron port is merely marked
with the (made up) compute id.

Octavia 11 talks to Neutron by python-neutronclient, 16 by openstacksdk.
"""
from oslo_log import log as logging

from octavia.network import data_models as n_data_models
from octavia.network.drivers.neutron import allowed_address_pairs as aap
from octavia.network.drivers.neutron import utils

LOG = logging.getLogger(__name__)


class E2ENetworkDriver(aap.AllowedAddressPairsDriver):

    def mark(self, port_id, compute_id):
        if hasattr(self, 'network_proxy'):
            self.network_proxy.update_port(port_id, device_id=compute_id)
        else:
            self.neutron_client.update_port(
                port_id, {'port': {'device_id': compute_id}})

    def plug_port(self, amphora, port):
        self.mark(port.id, amphora.compute_id)
        return n_data_models.Interface(
            compute_id=amphora.compute_id, network_id=port.network_id,
            port_id=port.id, fixed_ips=port.fixed_ips)

    def plug_network(self, compute_id, network_id):  # only called by Octavia 11
        new_port = self.neutron_client.create_port({'port': {
            'name': 'octavia-e2e-' + compute_id,
            'network_id': network_id,
            'admin_state_up': True,
            'device_id': compute_id,
            'device_owner': aap.OCTAVIA_OWNER}})
        port = utils.convert_port_dict_to_model(new_port)
        return n_data_models.Interface(
            compute_id=compute_id, network_id=port.network_id,
            port_id=port.id, fixed_ips=port.fixed_ips)

    def unplug_network(self, compute_id, network_id):
        for nic in self.get_plugged_networks(compute_id):
            if nic.network_id == network_id:
                self._delete(nic.port_id)

    def _delete(self, port_id):
        if hasattr(self, 'network_proxy'):
            self.network_proxy.delete_port(port_id)  # which may be absent
            return
        from neutronclient.common import exceptions as neutron_exc
        try:
            self.neutron_client.delete_port(port_id)
        except (neutron_exc.NotFound, neutron_exc.PortNotFoundClient):
            pass

    def unplug_aap_port(self, vip, amphora, subnet):
        if amphora.vrrp_port_id:
            self._delete(amphora.vrrp_port_id)

    def deallocate_vip(self, vip):
        # Nova would delete the ports it created along with the instance.
        for amphora in vip.load_balancer.amphorae:
            if not amphora.compute_id:
                continue
            for nic in self.get_plugged_networks(amphora.compute_id):
                self._delete(nic.port_id)
        super().deallocate_vip(vip)

    def failover_preparation(self, amphora):
        pass

    def wait_for_port_detach(self, amphora):
        pass
