#!/usr/bin/python3
"""Port of a tenant's machine without a server, made if need be: id mac ipv4 ipv6.

client_port.py TENANT [NAME]"""
import sys

from identity import connect
from provision import info

tenant = sys.argv[1]
name = 'e2e-' + (sys.argv[2:] or ['client'])[0]
n, d = connect(tenant).network, info()['tenants'][tenant]
p = n.find_port(name) or n.create_port(
    name=name, network_id=d['network'],
    security_group_ids=[d['nodes_group']],
    fixed_ips=[{'subnet_id': d['subnet']}, {'subnet_id': d['subnet6']}])
ips = {f['subnet_id']: f['ip_address'] for f in p.fixed_ips}
print(p.id, p.mac_address, ips[d['subnet']] + '/16', ips[d['subnet6']] + '/64')
