"""Octavia amphora driver of the test cloud: the noop driver plus time and health.

* Every operation that would have gone to an amphora sleeps first, so that
  the PENDING_* states last as long as with real amphorae.  The delays are
  read anew for every operation from the file named by the environment
  variable E2E_AMPHORA_DELAY_FILE:

      update=2.0      # (re)configuring listeners, pools, members, monitors
      create=5.0      # booting the amphora of a new load balancer
      delete=1.0      # deleting a listener
      fail=0          # 1: operations raise, objects end in ERROR

* After an operation the operating statuses are set the way the first
  heartbeat of a real amphora would set them (the noop driver leaves
  everything OFFLINE for ever).
"""
import os
import time

from oslo_log import log as logging

from octavia.amphorae.driver_exceptions import exceptions as driver_exc
from octavia.amphorae.drivers.noop_driver import driver as noop
from octavia.common import constants
from octavia.db import api as db_api
from octavia.db import repositories

LOG = logging.getLogger(__name__)


def knobs():
    values = {'update': 0.0, 'create': 0.0, 'delete': 0.0, 'fail': 0.0}
    try:
        with open(os.environ.get('E2E_AMPHORA_DELAY_FILE', '/dev/null')) as f:
            for line in f:
                key, sep, value = line.partition('#')[0].partition('=')
                if sep:
                    values[key.strip()] = float(value)
    except (OSError, ValueError) as e:
        LOG.warning('e2e: knobs not read: %s', e)
    return values


def act(kind):
    values = knobs()
    time.sleep(values[kind])
    if values['fail']:
        raise driver_exc.TimeOutException()


def mark_online(lb_id):
    session = db_api.get_session()
    with session.begin():
        mark_online_in(session, lb_id)


def mark_online_in(session, lb_id):
    repos = repositories.Repositories()

    def put(repo, obj, status):
        if obj.operating_status != status:
            repo.update(session, obj.id, operating_status=status)

    lb = repos.load_balancer.get(session, id=lb_id)
    if lb is None:
        return
    online, offline = constants.ONLINE, constants.OFFLINE
    put(repos.load_balancer, lb, online if lb.enabled else offline)
    for listener in lb.listeners:
        put(repos.listener, listener, online if listener.enabled else offline)
    for pool in lb.pools:
        put(repos.pool, pool, online if pool.enabled else offline)
        for member in pool.members:
            if not member.enabled:
                status = offline
            elif pool.health_monitor:
                status = online
            else:
                status = constants.NO_MONITOR
            put(repos.member, member, status)
        if pool.health_monitor:
            put(repos.health_monitor, pool.health_monitor,
                online if pool.health_monitor.enabled else offline)


class E2EAmphoraDriver(noop.NoopAmphoraLoadBalancerDriver):

    def _online(self, lb):
        try:
            mark_online(lb.id)
        except Exception:
            LOG.exception('e2e: operating status not updated')

    def update(self, loadbalancer):
        act('update')
        super().update(loadbalancer)
        self._online(loadbalancer)

    def update_amphora_listeners(self, loadbalancer, amphora, timeout_dict):
        act('update')
        super().update_amphora_listeners(loadbalancer, amphora, timeout_dict)
        self._online(loadbalancer)

    def reload(self, loadbalancer, amphora=None, timeout_dict=None):
        act('update')

    def start(self, loadbalancer, amphora=None, timeout_dict=None):
        self._online(loadbalancer)

    def delete(self, listener):
        act('delete')
        super().delete(listener)

    def finalize_amphora(self, amphora):
        act('create')
        super().finalize_amphora(amphora)

    def post_vip_plug(self, amphora, load_balancer, amphorae_network_config,
                      vrrp_port=None, vip_subnet=None,
                      additional_vip_data=None):
        self._online(load_balancer)
