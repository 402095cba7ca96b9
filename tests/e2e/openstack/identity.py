#!/usr/bin/python3
"""Service users, catalogue, the k8s project, credentials. Safe to run again."""
import os

import openstack

STATE = os.environ['E2E_STATE']
PW = os.environ['E2E_PASSWORD']


def port(name, default):
    return os.environ.get('E2E_%s_PORT' % name, default)


REGION = os.environ.get('E2E_REGION', 'RegionOne')
AUTH = 'http://127.0.0.1:%s/v3' % port('KEYSTONE', '25000')
SERVICES = [
    ('nova', 'compute', 'http://127.0.0.1:%s/v2.1' % port('NOVA', '28774')),
    ('placement', 'placement', 'http://127.0.0.1:%s' % port('PLACEMENT', '28778')),
    ('glance', 'image', 'http://127.0.0.1:%s' % port('GLANCE', '29292')),
    ('neutron', 'network', 'http://127.0.0.1:%s' % port('NEUTRON', '29696')),
    ('octavia', 'load-balancer', 'http://127.0.0.1:%s' % port('OCTAVIA', '29876')),
]


def connect(user, project):
    return openstack.connect(
        load_yaml_config=False, load_envvars=False, auth=dict(
            auth_url=AUTH, username=user, password=PW, project_name=project,
            user_domain_name='Default', project_domain_name='Default'),
        region_name=REGION, identity_api_version='3')


def write(name, text, mode=0o600):
    path = os.path.join(STATE, name)
    with open(path, 'w') as f:
        f.write(text)
    os.chmod(path, mode)


def main():
    c = connect('admin', 'admin')
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
    svc = project('service')
    for name, kind, url in SERVICES:
        u = user(name)
        i.assign_project_role_to_user(svc, u, admin)
        i.assign_project_role_to_user(svc, u, service)
        s = next(i.services(name=name), None) or i.create_service(
            name=name, type=kind)
        have = {e.interface for e in i.endpoints(service_id=s.id)}
        for iface in ('public', 'internal', 'admin'):
            if iface not in have:
                i.create_endpoint(service_id=s.id, interface=iface, url=url,
                                  region_id=REGION)
    adm_user, adm_project = user('admin'), project('admin')
    i.assign_project_role_to_user(adm_project, adm_user, lb_roles[4])
    k8s = project('k8s')
    ku = user('k8s')
    for r in (member, lb_roles[2]):
        i.assign_project_role_to_user(k8s, ku, r)
    other = project('other')        # a second tenant, for isolation tests
    ou = user('other')
    for r in (member, lb_roles[2]):
        i.assign_project_role_to_user(other, ou, r)

    k = connect('k8s', 'k8s')
    uid = k.current_user_id
    for a in k.identity.application_credentials(uid):
        if a.name == 'ccm':
            k.identity.delete_application_credential(uid, a)
    a = k.identity.create_application_credential(
        uid, name='ccm', secret=os.urandom(24).hex(), unrestricted=False)

    write('clouds.yaml', '''clouds:
  e2e-admin:
    auth_type: password
    region_name: {r}
    identity_api_version: 3
    auth: {{auth_url: "{u}", username: admin, password: "{p}", project_name: admin,
           user_domain_name: Default, project_domain_name: Default}}
  e2e:
    auth_type: password
    region_name: {r}
    identity_api_version: 3
    auth: {{auth_url: "{u}", username: k8s, password: "{p}", project_name: k8s,
           user_domain_name: Default, project_domain_name: Default}}
  e2e-other:
    auth_type: password
    region_name: {r}
    identity_api_version: 3
    auth: {{auth_url: "{u}", username: other, password: "{p}", project_name: other,
           user_domain_name: Default, project_domain_name: Default}}
  e2e-appcred:
    auth_type: v3applicationcredential
    region_name: {r}
    identity_api_version: 3
    auth: {{auth_url: "{u}", application_credential_id: "{ai}",
           application_credential_secret: "{as_}"}}
'''.format(r=REGION, u=AUTH, p=PW, ai=a.id, as_=a.secret))
    for name, usr in (('admin', 'admin'), ('k8s', 'k8s')):
        write(name + '-openrc', '''export OS_AUTH_URL={u} OS_IDENTITY_API_VERSION=3 OS_REGION_NAME={r}
export OS_USERNAME={n} OS_PASSWORD={p} OS_PROJECT_NAME={n}
export OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default
'''.format(u=AUTH, r=REGION, n=usr, p=PW))
    write('cloud.conf', '''[Global]
auth-url={u}
region={r}
application-credential-id={ai}
application-credential-secret={as_}
'''.format(r=REGION, u=AUTH, ai=a.id, as_=a.secret))


if __name__ == '__main__':
    main()
