# Writes the configuration of every service. Sourced by up.sh.
# shellcheck shell=bash
db_url() { echo "mysql+pymysql://e2e:$E2E_PASSWORD@localhost/$1?unix_socket=$RUN/mysqld.sock&charset=utf8"; }

auth_section() { # SECTION USER: a keystoneauth section
    cat <<EOF
[$1]
auth_type = password
auth_url = $AUTH_URL
username = $2
password = $E2E_PASSWORD
project_name = service
user_domain_name = Default
project_domain_name = Default
region_name = $E2E_REGION
EOF
}

authtoken() { # USER
    auth_section keystone_authtoken "$1"
    cat <<EOF
www_authenticate_uri = $AUTH_URL
memcached_servers = 127.0.0.1:$MEMCACHED_PORT
service_token_roles_required = true
service_token_roles = service,admin
interface = public
EOF
}

common() { # DATABASE [extra lines of DEFAULT]
    cat <<EOF
[DEFAULT]
transport_url = rabbit://guest:guest@127.0.0.1:$RABBIT_PORT/
use_stderr = false
log_dir = $LOG
rpc_response_timeout = 120
${2:-}
[database]
connection = $(db_url "$1")
max_pool_size = 20
max_overflow = 50
connection_recycle_time = 600
[oslo_messaging_rabbit]
heartbeat_timeout_threshold = 60
[oslo_messaging_notifications]
driver = noop
[oslo_concurrency]
lock_path = $E2E_STATE/lock
EOF
}

write_config() {
    local q=100000
    mkdir -p "$ETC"/{keystone,placement,glance,nova,neutron,octavia,octavia-home/.octavia} "$E2E_STATE"/{lock,images,instances,certs,octavia-tls}
    cat >"$ETC/keystone/keystone.conf" <<EOF
$(common keystone "public_endpoint = http://127.0.0.1:$KEYSTONE_PORT")
[token]
provider = fernet
expiration = ${E2E_TOKEN_TTL:-86400}
[fernet_tokens]
key_repository = $ETC/keystone/fernet-keys
[credential]
key_repository = $ETC/keystone/credential-keys
[cache]
enabled = true
backend = dogpile.cache.pymemcache
memcache_servers = 127.0.0.1:$MEMCACHED_PORT
EOF
    cat >"$ETC/placement/placement.conf" <<EOF
[DEFAULT]
use_stderr = false
log_dir = $LOG
log_file = placement.log
[placement_database]
connection = $(db_url placement)
[api]
auth_strategy = keystone
$(authtoken placement)
EOF
    cat >"$ETC/glance/glance-api.conf" <<EOF
$(common glance "bind_host = 127.0.0.1
bind_port = $GLANCE_PORT
workers = 1
log_file = glance.log
enabled_backends = disk:file")
[glance_store]
default_backend = disk
[disk]
filesystem_store_datadir = $E2E_STATE/images
[os_glance_staging_store]
filesystem_store_datadir = $E2E_STATE/images/staging
[os_glance_tasks_store]
filesystem_store_datadir = $E2E_STATE/images/tasks
[paste_deploy]
flavor = keystone
config_file = $PKG/usr/share/glance-common/glance-api-paste.ini
$(authtoken glance)
EOF
    cat >"$ETC/nova/nova.conf" <<EOF
$(common nova "host = $E2E_HOST
my_ip = 127.0.0.1
compute_driver = fake.FakeDriver
enabled_apis = osapi_compute
osapi_compute_listen = 127.0.0.1
osapi_compute_listen_port = $NOVA_PORT
osapi_compute_workers = 2
instances_path = $E2E_STATE/instances
state_path = $E2E_STATE/instances
vif_plugging_is_fatal = false
vif_plugging_timeout = 0
default_schedule_zone = nova
instance_usage_audit = false
max_concurrent_builds = 20
initial_cpu_allocation_ratio = 16.0")
[api]
auth_strategy = keystone
[wsgi]
api_paste_config = $PKG/usr/share/nova-common/api-paste.ini
[api_database]
connection = $(db_url nova_api)
[conductor]
workers = 2
[scheduler]
workers = 1
discover_hosts_in_cells_interval = 15
[quota]
instances = -1
cores = -1
ram = -1
[vnc]
enabled = false
[cache]
enabled = true
backend = dogpile.cache.pymemcache
memcache_servers = 127.0.0.1:$MEMCACHED_PORT
[glance]
api_servers = http://127.0.0.1:$GLANCE_PORT
[cinder]
os_region_name = $E2E_REGION
$(authtoken nova)
$(auth_section placement placement)
$(auth_section neutron neutron)
$(auth_section service_user nova)
send_service_user_token = true
EOF
    cat >"$ETC/neutron/neutron.conf" <<EOF
$(common neutron "bind_host = 127.0.0.1
bind_port = $NEUTRON_PORT
api_workers = ${E2E_NEUTRON_WORKERS:-2}
rpc_workers = 1
core_plugin = ml2
service_plugins = ovn-router,qos,port_forwarding
api_paste_config = $PKG/usr/share/neutron-common/api-paste.ini
state_path = $E2E_STATE
log_file = neutron.log
dhcp_agent_notification = false
dns_domain = e2e.test.
allow_overlapping_ips = true
max_allowed_address_pair = 100
notify_nova_on_port_status_changes = true
notify_nova_on_port_data_changes = true
agent_down_time = 3600")
[quotas]
quota_network = $q
quota_subnet = $q
quota_port = $q
quota_router = $q
quota_floatingip = $q
quota_security_group = $q
quota_security_group_rule = $q
$(authtoken neutron)
$(auth_section nova nova)
$(auth_section placement placement)
EOF
    cat >"$ETC/neutron/ml2.ini" <<EOF
[ml2]
type_drivers = geneve,flat,vlan
tenant_network_types = geneve
mechanism_drivers = ovn
extension_drivers = port_security,dns,qos
overlay_ip_version = 4
[ml2_type_geneve]
vni_ranges = 1:65535
max_header_size = 38
[ml2_type_flat]
flat_networks = physnet1
[securitygroup]
enable_security_group = true
[ovn]
ovn_nb_connection = tcp:127.0.0.1:$OVN_NB_PORT
ovn_sb_connection = tcp:127.0.0.1:$OVN_SB_PORT
ovn_l3_scheduler = leastloaded
enable_distributed_floating_ip = false
ovn_metadata_enabled = true
EOF
    [ -z "$AMPHORA" ] || write_barbican_conf
    octavia_ca
    write_octavia_conf
    ln -sfn "$ETC/octavia/octavia.conf" "$ETC/octavia-home/.octavia/octavia.conf"
}

write_barbican_conf() {
    mkdir -p "$ETC/barbican-home/.barbican"
    cat >"$ETC/barbican-home/.barbican/barbican.conf" <<EOF
$(common barbican "host_href = http://127.0.0.1:$BARBICAN_PORT
log_file = barbican.log")
[simple_crypto_plugin]
kek = $(printf %s "$E2E_PASSWORD" | openssl dgst -sha256 -binary | base64)
$(authtoken barbican)
EOF
}

octavia_ca() {
    local d=$E2E_STATE/certs
    [ -s "$d/ca.key" ] && return 0
    openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=e2e-octavia-ca -addext keyUsage=critical,keyCertSign,cRLSign \
        -keyout "$d/ca.key" -out "$d/ca.crt" 2>/dev/null
}

write_octavia_conf() {
    local mgmt='' certificates=local_cert_manager
    [ -z "$AMPHORA" ] || certificates=barbican_cert_manager
    [ -s "$E2E_STATE/lb-mgmt-net" ] && mgmt="amp_boot_network_list = $(cat "$E2E_STATE/lb-mgmt-net")"
    cat >"$ETC/octavia/octavia.conf" <<EOF
$(common octavia "debug = ${E2E_OCTAVIA_DEBUG:-false}")
[api_settings]
bind_host = 127.0.0.1
bind_port = $OCTAVIA_PORT
enabled_provider_drivers = amphora:The Octavia Amphora driver (no-op back end),octavia:Deprecated alias of the Octavia Amphora driver,ovn:Octavia OVN driver
default_provider_driver = amphora
healthcheck_enabled = true
[health_manager]
bind_ip = 127.0.0.1
bind_port = 25555
heartbeat_key = e2e
controller_ip_port_list = 127.0.0.1:25555
[certificates]
ca_certificate = $E2E_STATE/certs/ca.crt
ca_private_key = $E2E_STATE/certs/ca.key
server_certs_key_passphrase = insecure-key-do-not-use-this-key
cert_generator = local_cert_generator
cert_manager = $certificates
region_name = $E2E_REGION
storage_path = $E2E_STATE/octavia-tls/
[controller_worker]
amphora_driver = e2e_amphora_driver
compute_driver = e2e_compute_driver
network_driver = e2e_network_driver
image_driver = image_noop_driver
volume_driver = volume_noop_driver
distributor_driver = distributor_noop_driver
loadbalancer_topology = SINGLE
amp_flavor_id = 1
amp_image_tag = amphora
client_ca = $E2E_STATE/certs/ca.crt
workers = ${E2E_OCTAVIA_WORKERS:-2}
event_notifications = false
$mgmt
# The sockets stay where they are by default (/var/run/octavia): the OVN
# provider has no option for them.
[driver_agent]
enabled_provider_agents = ovn
[oslo_messaging]
topic = octavia_prov
[neutron]
region_name = $E2E_REGION
endpoint_type = publicURL
[nova]
enable_anti_affinity = false
[ovn]
ovn_nb_connection = tcp:127.0.0.1:$OVN_NB_PORT
ovn_sb_connection = tcp:127.0.0.1:$OVN_SB_PORT
$(authtoken octavia)
$(auth_section service_auth octavia)
EOF
}

write_amphora_conf() { # SECURITY-GROUP ADDRESS: what is different with real amphorae
    local c=$E2E_STATE/certs silence=30 answer=60 # seconds; the guests of tcg are slow
    if [ "$AMPHORA" = tcg ]; then silence=600 answer=600; fi
    if [ ! -s "$c/client.pem" ]; then
        openssl req -newkey rsa:2048 -nodes -subj /CN=octavia -keyout "$c/client.key" -out "$c/client.csr" 2>/dev/null
        openssl x509 -req -in "$c/client.csr" -CA "$c/ca.crt" -CAkey "$c/ca.key" -CAcreateserial -days 3650 -out "$c/client.crt" 2>/dev/null
        cat "$c/client.crt" "$c/client.key" >"$c/client.pem"
    fi
    cat >"$ETC/octavia/amphora.conf" <<EOF
[health_manager]
bind_ip = $2
bind_port = 5555
controller_ip_port_list = $2:5555
heartbeat_interval = 3
health_check_interval = 3
heartbeat_timeout = $silence
[controller_worker]
amphora_driver = amphora_haproxy_rest_driver
compute_driver = e2e_machine_driver
network_driver = allowed_address_pairs_driver
amp_secgroup_list = $1
amp_active_wait_sec = 1
amp_active_retries = 900
[haproxy_amphora]
client_cert = $c/client.pem
server_ca = $c/ca.crt
rest_request_conn_timeout = 60
rest_request_read_timeout = $answer
connection_retry_interval = 1
connection_max_retries = 900
active_connection_retry_interval = 1
active_connection_max_retries = 900
[house_keeping]
cleanup_interval = 10
EOF
}
