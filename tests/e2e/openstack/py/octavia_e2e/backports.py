"""Fixes of the packaged Octavia 11.0.0 that later releases have.

Without the job board, 11.0.0 drops the keyword arguments of a flow, so that
the flow of a fully populated load balancer is built without its listeners:
the load balancer becomes ACTIVE while listeners, pools, members and monitors
stay PENDING_CREATE for ever (and every later change of them answers 409).
Set E2E_OCTAVIA_BACKPORTS=0 to have that behaviour.
"""
import os


def apply():
    if os.environ.get('E2E_OCTAVIA_BACKPORTS', '1') == '0':
        return
    from octavia.common import constants
    from octavia.controller.worker.v2 import controller_worker
    from octavia.controller.worker.v2.flows import load_balancer_flows
    from octavia.controller.worker.v2.tasks import network_tasks

    orig_run = controller_worker.ControllerWorker.run_flow

    def run_flow(self, func, *args, **kwargs):
        if controller_worker.CONF.task_flow.jobboard_enabled:
            return orig_run(self, func, *args, **kwargs)
        store = kwargs.pop('store', None)
        return orig_run(self, lambda: func(*args, **kwargs), store=store)

    controller_worker.ControllerWorker.run_flow = run_flow

    cls = load_balancer_flows.LoadBalancerFlows
    orig_flow = cls._create_listeners_flow

    def _create_listeners_flow(self):
        flows = orig_flow(self)
        at = [type(f).__name__ for f in flows].index('AmphoraePostNetworkPlug')
        flows.insert(at, network_tasks.GetAmphoraeNetworkConfigs(
            name='e2e-full-graph-get-network-configs',
            requires=constants.LOADBALANCER_ID,
            provides=constants.AMPHORAE_NETWORK_CONFIG))
        return flows

    cls._create_listeners_flow = _create_listeners_flow


def apply_to_ovn_agent():
    """What a health check finds of something that has just been deleted, the agent
    of ovn-octavia-provider 3.0 tries to tell Octavia for twelve minutes, and does
    nothing else meanwhile: floating IPs of new load balancers lead nowhere. Here
    it gives up when Octavia has refused twice.
    """
    import tenacity
    from ovn_octavia_provider import helper
    update = helper.OvnProviderHelper._update_status_to_octavia
    update.retry.stop = tenacity.stop_after_attempt(2)
