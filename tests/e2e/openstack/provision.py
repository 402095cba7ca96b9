#!/usr/bin/python3
"""Networks, flavors, image, load-balancer flavors. Safe to run again.

provision.py network | compute | loadbalancer ...
"""
import io
import json
import os
import sys
import time

import openstack

from identity import AUTH, connect

STATE = os.environ['E2E_STATE']
DOMAIN_ARGS = {}


def info(**kw):
    path = os.path.join(STATE, 'info.json')
    data = json.load(open(path)) if os.path.exists(path) else {}
    data.update(kw)
    with open(path, 'w') as f:
        json.dump(data, f, indent=1, sort_keys=True)
    return data


def network(adm, k8s):
    n = adm.network
    ext = n.find_network('ext-net') or n.create_network(
        name='ext-net', is_router_external=True, is_shared=False,
        provider_network_type='flat', provider_physical_network='physnet1')
    s4 = n.find_subnet('ext-subnet') or n.create_subnet(
        name='ext-subnet', network_id=ext.id, ip_version=4,
        cidr='172.24.4.0/22', gateway_ip='172.24.4.1', is_dhcp_enabled=False,
        allocation_pools=[dict(start='172.24.4.10', end='172.24.7.250')])
    s6 = n.find_subnet('ext-subnet6') or n.create_subnet(
        name='ext-subnet6', network_id=ext.id, ip_version=6,
        cidr='2001:db8:24::/64', gateway_ip='2001:db8:24::1',
        is_dhcp_enabled=False)
    mgmt = n.find_network('lb-mgmt-net') or n.create_network(name='lb-mgmt-net')
    n.find_subnet('lb-mgmt-subnet') or n.create_subnet(
        name='lb-mgmt-subnet', network_id=mgmt.id, ip_version=4,
        cidr='192.168.240.0/20', is_dhcp_enabled=False, gateway_ip=None)
    with open(os.path.join(STATE, 'lb-mgmt-net'), 'w') as f:
        f.write(mgmt.id)
    t = k8s.network
    net = t.find_network('k8s-net') or t.create_network(name='k8s-net')
    k4 = t.find_subnet('k8s-subnet') or t.create_subnet(
        name='k8s-subnet', network_id=net.id, ip_version=4,
        cidr='10.6.0.0/16', gateway_ip='10.6.0.1',
        allocation_pools=[dict(start='10.6.0.10', end='10.6.255.250')])
    k6 = t.find_subnet('k8s-subnet6') or t.create_subnet(
        name='k8s-subnet6', network_id=net.id, ip_version=6,
        cidr='fd00:6::/64', gateway_ip='fd00:6::1',
        ipv6_address_mode='dhcpv6-stateful', ipv6_ra_mode='dhcpv6-stateful')
    r = t.find_router('k8s-router')
    if not r:
        r = t.create_router(name='k8s-router',
                            external_gateway_info={'network_id': ext.id})
    have = {f['subnet_id'] for p in t.ports(device_id=r.id)
            for f in p.fixed_ips}
    for s in (k4, k6):
        if s.id not in have:
            t.add_interface_to_router(r, subnet_id=s.id)
    sg = t.find_security_group('k8s-nodes')
    if not sg:
        sg = t.create_security_group(name='k8s-nodes')
        for et in ('IPv4', 'IPv6'):
            for proto in ('tcp', 'udp', 'sctp', 'ipv6-icmp' if et == 'IPv6'
                          else 'icmp'):
                t.create_security_group_rule(
                    security_group_id=sg.id, direction='ingress',
                    ethertype=et, protocol=proto)
    info(auth_url=AUTH, ext_net=ext.id, ext_subnet=s4.id, ext_subnet6=s6.id,
         lb_mgmt_net=mgmt.id, k8s_net=net.id, k8s_subnet=k4.id,
         k8s_subnet6=k6.id, router=r.id, sg_nodes=sg.id,
         k8s_project=k8s.current_project_id)
    with open(os.path.join(STATE, 'cloud.conf')) as f:
        conf = f.read().split('[LoadBalancer]')[0].rstrip()
    with open(os.path.join(STATE, 'cloud.conf'), 'w') as f:
        f.write(conf + '''

[LoadBalancer]
floating-network-id=%s
floating-subnet-id=%s
network-id=%s
subnet-id=%s
''' % (ext.id, s4.id, net.id, k4.id))


def compute(adm, k8s):
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


def loadbalancer(adm, k8s):
    s = adm.load_balancer
    for name, topo in (('single', 'SINGLE'), ('ha', 'ACTIVE_STANDBY')):
        p = s.find_flavor_profile(name) or s.create_flavor_profile(
            name=name, provider_name='amphora',
            flavor_data=json.dumps({'loadbalancer_topology': topo}))
        f = s.find_flavor(name) or s.create_flavor(
            name=name, flavor_profile_id=p.id, is_enabled=True)
        info(**{'lb_flavor_' + name: f.id})
    p = s.find_availability_zone_profile('zone1') or \
        s.create_availability_zone_profile(
            name='zone1', provider_name='amphora',
            availability_zone_data=json.dumps({'compute_zone': 'nova'}))
    s.find_availability_zone('zone1') or s.create_availability_zone(
        name='zone1', availability_zone_profile_id=p.id, is_enabled=True)


def servers(adm, k8s, count, prefix='node-'):
    c, d = k8s.compute, info()
    flavor = c.find_flavor('k8s.small').id
    have = {s.name for s in c.servers(details=False)}
    t = time.time()
    made = []
    for n in range(1, count + 1):
        name = '%s%d' % (prefix, n)
        if name not in have:
            made.append(c.create_server(
                name=name, flavor_id=flavor, image_id=d['image'],
                networks=[{'uuid': d['k8s_net']}],
                security_groups=[{'name': 'k8s-nodes'}],
                metadata={'e2e': 'node'}))
    while True:
        st = {}
        for s in c.servers():
            if s.name.startswith(prefix):
                st[s.status] = st.get(s.status, 0) + 1
        if not st.get('BUILD') or time.time() - t > 600:
            break
        time.sleep(1)
    print('%d servers asked for, %d created, %.0fs, states %s' % (
        count, len(made), time.time() - t, st))


def main():
    adm, k8s = connect('admin', 'admin'), connect('k8s', 'k8s')
    args = sys.argv[1:]
    while args:
        a = args.pop(0)
        t = time.time()
        if a == 'servers':
            servers(adm, k8s, int(args.pop(0)))
        else:
            {'network': network, 'compute': compute,
             'loadbalancer': loadbalancer}[a](adm, k8s)
        print('%s: %.1fs' % (a, time.time() - t), flush=True)


if __name__ == '__main__':
    main()
