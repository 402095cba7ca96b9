#!/usr/bin/python3
"""The security group of amphorae, and Octavia's own port on their management network, made
if need be: group id mac address/length."""
import os

from identity import connect

n = connect('admin').network
net = n.find_network('lb-mgmt-net')
group = next(n.security_groups(name='lb-mgmt', project_id=net.project_id), None)
if group is None:
    group = n.create_security_group(name='lb-mgmt')
    for protocol in ('tcp', 'udp', 'icmp'):
        n.create_security_group_rule(security_group_id=group.id, direction='ingress',
                                     ethertype='IPv4', protocol=protocol)
p = n.find_port('octavia') or n.create_port(
    name='octavia', network_id=net.id, security_group_ids=[group.id],
    device_owner='Octavia:health-mgr', binding_host_id=os.environ['E2E_HOST'])
ip = p.fixed_ips[0]
print(group.id, p.id, p.mac_address,
      ip['ip_address'] + '/' + n.get_subnet(ip['subnet_id']).cidr.split('/')[1])
