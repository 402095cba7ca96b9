#!/usr/bin/python3
"""Service users, catalogue, the tenants, their credentials. Safe to run again."""
import os

import openstack

STATE = os.environ['E2E_STATE']
PW = os.environ['E2E_PASSWORD']


def port(name, default):
    return os.environ.get('E2E_%s_PORT' % name, default)


# The suite runs once for each provider of load balancers, at the same time. Each
# has a project, and a region, whose only difference is an Octavia API of its own
# that can be stopped.
REGIONS = {'ovn': 'RegionOne', 'amphora': 'RegionTwo'}
AUTH = 'http://127.0.0.1:%s/v3' % port('KEYSTONE', '25000')
SERVICES = [
    ('nova', 'compute', 'http://127.0.0.1:%s/v2.1' % port('NOVA', '28774')),
    ('placement', 'placement', 'http://127.0.0.1:%s' % port('PLACEMENT', '28778')),
    ('glance', 'image', 'http://127.0.0.1:%s' % port('GLANCE', '29292')),
    ('neutron', 'network', 'http://127.0.0.1:%s' % port('NEUTRON', '29696')),
    ('octavia', 'load-balancer', None),
]
if os.environ.get('AMPHORA'):  # the others terminate no TLS
    SERVICES.append(('barbican', 'key-manager', 'http://127.0.0.1:%s' % port('BARBICAN', '29311')))
OCTAVIA = {'ovn': 'http://127.0.0.1:%s' % port('OCTAVIA', '29876'),
           'amphora': 'http://127.0.0.1:%s' % port('OCTAVIA2', '29877')}


def connect(user):
    """As a user of the project of the same name, which is a tenant's or admin."""
    return openstack.connect(
        load_yaml_config=False, load_envvars=False, auth=dict(
            auth_url=AUTH, username=user, password=PW, project_name=user,
            user_domain_name='Default', project_domain_name='Default'),
        region_name=REGIONS.get(user, 'RegionOne'), identity_api_version='3')


def write(name, text, mode=0o600):
    path = os.path.join(STATE, name)
    with open(path, 'w') as f:
        f.write(text)
    os.chmod(path, mode)


def main():
    c = connect('admin')
    i = c.identity
    dom = i.find_domain('Default') or i.find_domain('default')

    def role(name):
        return i.find_role(name) or i.create_role(name=name)

    def project(name):
        return (i.find_project(name, domain_id=dom.id) or
                i.create_project(name=name, domain_id=dom.id))

    def user(name):
        return (i.find_user(name, domain_id=dom.id) or
                i.create_user(name=name, domain_id=dom.id, password=PW))

    admin, member, service = role('admin'), role('member'), role('service')
    lb_roles = [role('load-balancer_' + r) for r in (
        'observer', 'global_observer', 'member', 'quota_admin', 'admin')]
    for region in REGIONS.values():
        i.find_region(region) or i.create_region(id=region)
    svc = project('service')
    for name, kind, url in SERVICES:
        u = user(name)
        i.assign_project_role_to_user(svc, u, admin)
        i.assign_project_role_to_user(svc, u, service)
        s = next(i.services(name=name), None) or i.create_service(
            name=name, type=kind)
        have = {(e.interface, e.region_id) for e in i.endpoints(service_id=s.id)}
        for tenant, region in REGIONS.items():
            for iface in ('public', 'internal', 'admin'):
                if (iface, region) not in have:
                    i.create_endpoint(
                        service_id=s.id, interface=iface,
                        url=url or OCTAVIA[tenant], region_id=region)
    keystone = next(i.services(type='identity'))
    have = {e.region_id for e in i.endpoints(service_id=keystone.id)}
    for region in set(REGIONS.values()) - have:
        i.create_endpoint(service_id=keystone.id, interface='public', url=AUTH,
                          region_id=region)
    i.assign_project_role_to_user(project('admin'), user('admin'), lb_roles[4])

    clouds = CLOUD.format(name='e2e-admin', region='RegionOne', url=AUTH,
                          user='admin', password=PW)
    for tenant, region in REGIONS.items():
        p, u = project(tenant), user(tenant)
        for r in (member, lb_roles[2], role('creator')):  # the last one is Barbican's
            i.assign_project_role_to_user(p, u, r)
        k = connect(tenant)
        uid = k.current_user_id
        for a in k.identity.application_credentials(uid):
            if a.name == 'ccm':
                k.identity.delete_application_credential(uid, a)
        a = k.identity.create_application_credential(
            uid, name='ccm', secret=os.urandom(24).hex(), unrestricted=False)
        clouds += CLOUD.format(name='e2e-' + tenant, region=region, url=AUTH,
                               user=tenant, password=PW)
        write('cloud-%s.conf' % tenant, '''[Global]
auth-url={}
region={}
application-credential-id={}
application-credential-secret={}
'''.format(AUTH, region, a.id, a.secret))
    write('clouds.yaml', 'clouds:\n' + clouds)


CLOUD = '''  {name}:
    auth_type: password
    region_name: {region}
    identity_api_version: 3
    auth: {{auth_url: "{url}", username: {user}, password: "{password}", project_name: {user},
           user_domain_name: Default, project_domain_name: Default}}
'''


if __name__ == '__main__':
    main()
