#!/usr/bin/python3
"""Networks, flavors, image. Safe to run again.

provision.py network | compute ...
"""
import io
import itertools
import json
import os
import sys
import time

from identity import AUTH, REGIONS, connect

STATE = os.environ['E2E_STATE']
# Who may connect to nodes: everybody, or with kubelets only nodes and pods, since
# the specs of Kubernetes expect that source ranges keep others out.
SOURCES = {'IPv4': [None], 'IPv6': [None]}
if os.environ.get('KUBELETS') == 'real':
    SOURCES = {'IPv4': ['10.6.0.0/16', '10.244.0.0/16'],
               'IPv6': ['fd00:6::/64', 'fd00:10:244::/56']}


def info(**kw):
    path = os.path.join(STATE, 'info.json')
    data = json.load(open(path)) if os.path.exists(path) else {}
    data.update(kw)
    with open(path, 'w') as f:
        json.dump(data, f, indent=1, sort_keys=True)
    return data


def network(adm):
    n = adm.network
    ext = n.find_network('ext-net') or n.create_network(
        name='ext-net', is_router_external=True, is_shared=False,
        provider_network_type='flat', provider_physical_network='physnet1')
    s4 = n.find_subnet('ext-subnet') or n.create_subnet(
        name='ext-subnet', network_id=ext.id, ip_version=4,
        cidr='172.24.4.0/22', gateway_ip='172.24.4.1', is_dhcp_enabled=False,
        allocation_pools=[dict(start='172.24.4.10', end='172.24.7.250')])
    mgmt = n.find_network('lb-mgmt-net') or n.create_network(name='lb-mgmt-net')
    n.find_subnet('lb-mgmt-subnet') or n.create_subnet(
        name='lb-mgmt-subnet', network_id=mgmt.id, ip_version=4,
        cidr='192.168.240.0/20', is_dhcp_enabled=False, gateway_ip=None)
    with open(os.path.join(STATE, 'lb-mgmt-net'), 'w') as f:
        f.write(mgmt.id)
    info(auth_url=AUTH, real_amphorae=bool(os.environ.get('AMPHORA')), nat=os.environ.get('AMPHORA') == 'tcg',
         fragile_tracking=os.environ['E2E_FRAGILE_TRACKING'] == '1',
         tenants={t: tenant(t, ext, s4) for t in REGIONS})


def tenant(name, ext, ext_subnet):
    """Network, router and security group of a tenant; tells their ids."""
    k = connect(name)
    t = k.network
    net = t.find_network('k8s-net', ignore_missing=True) or t.create_network(name='k8s-net')
    k4 = t.find_subnet('k8s-subnet') or t.create_subnet(
        name='k8s-subnet', network_id=net.id, ip_version=4,
        cidr='10.6.0.0/16', gateway_ip='10.6.0.1',
        allocation_pools=[dict(start='10.6.0.10', end='10.6.255.250')])
    k6 = t.find_subnet('k8s-subnet6') or t.create_subnet(
        name='k8s-subnet6', network_id=net.id, ip_version=6,
        cidr='fd00:6::/64', gateway_ip='fd00:6::1',
        ipv6_address_mode='dhcpv6-stateful', ipv6_ra_mode='dhcpv6-stateful')
    vips = t.find_network('vips', ignore_missing=True) or t.create_network(name='vips')
    v4 = t.find_subnet('vips') or t.create_subnet(
        name='vips', network_id=vips.id, ip_version=4, cidr='10.77.0.0/24', is_dhcp_enabled=False)
    r = t.find_router('k8s-router')
    if not r:
        r = t.create_router(name='k8s-router',
                            external_gateway_info={'network_id': ext.id})
    have = {f['subnet_id'] for p in t.ports(device_id=r.id)
            for f in p.fixed_ips}
    for s in (k4, k6, v4):
        if s.id not in have:
            t.add_interface_to_router(r, subnet_id=s.id)
    sg = t.find_security_group('k8s-nodes')
    if not sg:
        sg = t.create_security_group(name='k8s-nodes')
        for et, prefixes in SOURCES.items():
            for proto, prefix in itertools.product(
                    ('tcp', 'udp', 'sctp', 'ipv6-icmp' if et == 'IPv6'
                     else 'icmp'), prefixes):
                t.create_security_group_rule(
                    security_group_id=sg.id, direction='ingress',
                    ethertype=et, protocol=proto, remote_ip_prefix=prefix)
    path = os.path.join(STATE, 'cloud-%s.conf' % name)
    with open(path) as f:
        conf = f.read().split('[LoadBalancer]')[0].rstrip()
    with open(path, 'w') as f:
        f.write(conf + '''

[LoadBalancer]
floating-network-id=%s
floating-subnet-id=%s
network-id=%s
subnet-id=%s
''' % (ext.id, ext_subnet.id, net.id, k4.id))
    return dict(project=k.current_project_id, region=REGIONS[name],
                network=net.id, subnet=k4.id, subnet6=k6.id,
                vips=vips.id, nodes_group=sg.id)


def compute(adm):
    c = adm.compute
    for name, ram, vcpus in (('k8s.small', 64, 1), ('k8s.large', 512, 4)):
        c.find_flavor(name) or c.create_flavor(
            name=name, ram=ram, vcpus=vcpus, disk=1)
    img = adm.image.find_image('tiny')
    if not img:
        img = adm.create_image(
            'tiny', data=io.BytesIO(b'\0' * 65536), disk_format='raw',
            container_format='bare', visibility='public', wait=True,
            allow_duplicates=True)
    info(image=img.id)


def main():
    adm = connect('admin')
    for a in sys.argv[1:]:
        t = time.time()
        {'network': network, 'compute': compute}[a](adm)
        print('%s: %.1fs' % (a, time.time() - t), flush=True)


if __name__ == '__main__':
    main()
