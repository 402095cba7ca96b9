package settings_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

func TestKeptMonitor_FollowsTruthTable(t *testing.T) {
	t.Parallel()
	web := model.Monitor{Type: model.MonitorHTTP, URLPath: "/healthz", Delay: 7, Timeout: 2, MaxRetries: 3, MaxRetriesDown: 4}
	tcp, udp := model.Monitor{Type: model.MonitorTCP, Delay: 7}, model.Monitor{Type: model.MonitorUDPConnect, Delay: 7}
	index := web
	index.URLPath = "/index"
	own := func(svc *v1.Service) {
		svc.Annotations[annotation.MonitorPath], svc.Annotations[annotation.MonitorPort] = "/healthz", "30080"
	}
	off := fixture.Annotated(annotation.Monitor, "false")
	on := fixture.Annotated(annotation.Monitor, "true")
	kubeProxy := fixture.Annotated(annotation.MonitorKubeProxy, "true")
	for _, c := range []struct {
		what     string
		there    *model.Monitor
		at       int
		protocol model.Protocol
		says     []func(*v1.Service)
		want     string
	}{
		{"none, Local", nil, 0, model.TCP, []func(*v1.Service){fixture.Local}, "HTTP /healthz every 5 at 31000"},
		{"none, Local, UDP", nil, 0, model.UDP, []func(*v1.Service){fixture.Local}, "HTTP /healthz every 5 at 31000"},
		{"none, Local, switched off", nil, 0, model.TCP, []func(*v1.Service){fixture.Local, off}, "none"},
		{"none, Cluster", nil, 0, model.TCP, []func(*v1.Service){on}, "none"},
		{"UDP-CONNECT, Local", &udp, 0, model.UDP, []func(*v1.Service){fixture.Local}, "HTTP /healthz every 5 at 31000"},
		{"UDP-CONNECT, Cluster", &udp, 0, model.UDP, nil, "UDP-CONNECT  every 7"},
		{"TCP, Local", &tcp, 0, model.TCP, []func(*v1.Service){fixture.Local}, "TCP  every 7"},
		{"kube-proxy, Local", &web, 10256, model.TCP, []func(*v1.Service){fixture.Local, kubeProxy}, "HTTP /healthz every 7 at 31000"},
		{"kube-proxy, Cluster", &web, 10256, model.TCP, []func(*v1.Service){kubeProxy}, "HTTP /healthz every 7 at 10256"},
		{"health check port, Local", &web, 32000, model.TCP, []func(*v1.Service){fixture.Local}, "HTTP /healthz every 7 at 31000"},
		{"health check port, Cluster", &web, 32000, model.TCP, nil, "none"},
		{"health check port, Cluster with monitors", &web, 32000, model.TCP, []func(*v1.Service){on}, "TCP  every 7"},
		{"health check port, Cluster with monitors, UDP", &web, 32000, model.UDP, []func(*v1.Service){on}, "UDP-CONNECT  every 7"},
		{"health check port, Cluster with kube-proxy", &web, 32000, model.TCP, []func(*v1.Service){on, kubeProxy}, "HTTP /healthz every 7 at 10256"},
		{"no member, Local", &web, settings.NoMember, model.TCP, []func(*v1.Service){fixture.Local}, "HTTP /healthz every 7 at 31000"},
		{"no member, Cluster", &web, settings.NoMember, model.TCP, []func(*v1.Service){on}, "TCP  every 7"},
		{"no member, TCP", &tcp, settings.NoMember, model.TCP, nil, "TCP  every 7"},
		{"the user's own port, Cluster", &web, 30080, model.TCP, []func(*v1.Service){on, own}, "HTTP /healthz every 7 at 30080"},
		{"the user's own port, no member", &web, settings.NoMember, model.TCP, []func(*v1.Service){on, own}, "HTTP /healthz every 7 at 30080"},
		{"the user's own path, Local", &index, 0, model.TCP, []func(*v1.Service){fixture.Local}, "HTTP /index every 7"},
		{"the user's own path at the NodePort", &web, 0, model.TCP, nil, "HTTP /healthz every 7"},
	} {
		s := fixture.Settings(t, fixture.Service(c.says...), fixture.Config(func(lb *config.LoadBalancer) { lb.MonitorDelay = fixture.Seconds(5) }))
		monitor, at := s.For(fixture.Amphora()).KeptMonitor(c.there, c.at, c.protocol)
		got := "none"
		if monitor != nil {
			got = fmt.Sprintf("%s %s every %d", monitor.Type, monitor.URLPath, monitor.Delay)
		}
		if at != 0 {
			got += fmt.Sprintf(" at %d", at)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}
