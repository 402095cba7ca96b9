#!/usr/bin/python3
"""Port of the client machine on the tenant network: id mac ipv4 ipv6, then
the external IPv6 address of the router (or nothing)."""
from identity import connect
from provision import info

c, d = connect('k8s', 'k8s'), info()
n = c.network
p = n.find_port('e2e-client') or n.create_port(
    name='e2e-client', network_id=d['k8s_net'],
    security_group_ids=[d['sg_nodes']],
    fixed_ips=[{'subnet_id': d['k8s_subnet']},
               {'subnet_id': d['k8s_subnet6']}])
ips = {f['subnet_id']: f['ip_address'] for f in p.fixed_ips}
gw = [f['ip_address'] for f in n.get_router(d['router'])
      .external_gateway_info['external_fixed_ips'] if ':' in f['ip_address']]
print(p.id, p.mac_address, ips[d['k8s_subnet']] + '/16',
      ips[d['k8s_subnet6']] + '/64', *gw)
