package manifests_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/records"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

// rightsOf are the rules of the ClusterRole and the Roles for values.
func rightsOf(t *testing.T, values string) (cluster, namespaced []string) {
	t.Helper()
	of := rendered(t, minimalValues+values)[0]
	if of.Error != "" {
		t.Fatalf("%s: %s", values, of.Error)
	}
	for document := range strings.SplitSeq(of.Files["rbac.yaml"], "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		switch role := object(t, values, []byte(document)).(type) {
		case *rbacv1.ClusterRole:
			cluster = append(cluster, printed(role.Rules)...)
		case *rbacv1.Role:
			namespaced = append(namespaced, printed(role.Rules)...)
		}
	}
	return cluster, namespaced
}

// A controller that does not run needs no rights.
//
//proves:97
func TestChart_RightsFollowControllersThatRun(t *testing.T) {
	t.Parallel()
	common := []string{"authentication.k8s.io/tokenreviews: create", "authorization.k8s.io/subjectaccessreviews: create", "events: create patch"}
	nodesOnly := append(common[:3:3], "namespaces [kube-system]: get", "nodes/status: patch", "nodes: get list watch update patch delete", "services: list watch")
	serving := append(common[:2:2], "discovery.k8s.io/endpointslices: list watch", common[2])
	servicesOnly := append(serving[:4:4], "namespaces: get", "nodes: get list watch", "services/status: patch", "services: get list watch patch")
	routesOnly := append(common[:3:3], "namespaces [kube-system]: get", "nodes/status: patch", "nodes: get list watch", "services: list watch")
	lifecycleOnly := append(common[:3:3], "namespaces [kube-system]: get", "nodes: get list watch patch delete", "services: list watch")
	all := append(serving[:4:4], "namespaces: get", "nodes/status: patch", "nodes: get list watch update patch delete", "services/status: patch", "services: get list watch patch")
	balancers, route := strings.Join(records.Names(), " "), routes.RecordName
	for values, want := range map[string]struct {
		cluster []string
		records string
	}{
		"enabledControllers: [cloud-node, cloud-node-lifecycle]":            {nodesOnly, ""},
		"enabledControllers: ['*', -service, -route]":                       {nodesOnly, ""},
		"args: {controllers: 'cloud-node,cloud-node-lifecycle'}":            {nodesOnly, ""},
		"enabledControllers: [service]":                                     {servicesOnly, balancers},
		"enabledControllers: [service-lb-controller]":                       {servicesOnly, balancers},
		"enabledControllers: [route]":                                       {routesOnly, route},
		"enabledControllers: [cloud-node-lifecycle-controller]":             {lifecycleOnly, ""},
		"enabledControllers: null":                                          {all, route + " " + balancers},
		"controllerExtraArgs: ['--controllers', service]":                   {servicesOnly, balancers},
		"controllerExtraArgs: ['--controllers=service', '--controllers=*']": {all, route + " " + balancers},
	} {
		roles, namespaced := rightsOf(t, values)
		if diff := cmp.Diff(want.cluster, roles); diff != "" {
			t.Errorf("%s: ClusterRole (-want +got):\n%s", values, diff)
		}
		recorded := []string{fmt.Sprintf("configmaps [%s]: get update", strings.TrimSpace(cluster.ScopeRecord+" "+want.records))}
		if !strings.Contains(want.records, balancers) {
			recorded = append(recorded, fmt.Sprintf("configmaps [%s]: get", balancers)) // read at the start
		}
		if diff := cmp.Diff(append(recorded, "configmaps: create"), namespaced[:len(recorded)+1]); diff != "" {
			t.Errorf("%s: Role (-want +got):\n%s", values, diff)
		}
	}
}

// The lease is that of the arguments, for any source, and no other one can be taken.
func TestChart_RightsAreForTheLeaseOfTheArguments(t *testing.T) {
	t.Parallel()
	for values, want := range map[string][]string{
		"":                             {"leases [cloud-controller-manager]: get update", "leases: create"},
		"leaderElection: {name: ours}": {"leases [ours]: get update", "leases: create"},
		"args: {leader-elect-resource-name: ours}":                   {"leases [ours]: get update", "leases: create"},
		"controllerExtraArgs: '- --leader-elect-resource-name=ours'": {"leases [ours]: get update", "leases: create"},
		"controllerExtraArgs: [--leader_elect_resource_name, ours]":  {"leases [ours]: get update", "leases: create"},
		"args: {dry-run: true}":                                      {"leases [cloud-controller-manager-dry-run]: get update", "leases: create"},
		"args: {enable-leader-migration: true}":                      {"leases: create", "leases: get update"},
		"args: {leader-elect-resource-namespace: cloud}":             {"leases [cloud-controller-manager]: get update", "leases: create"},
		"args: {use-service-account-credentials: true}":              {"leases [cloud-controller-manager]: get update", "leases: create", "serviceaccounts/token: create", "serviceaccounts: create get"},
		"controllerExtraArgs: [--use-service-account-credentials]":   {"leases [cloud-controller-manager]: get update", "leases: create", "serviceaccounts/token: create", "serviceaccounts: create get"},
	} {
		_, namespaced := rightsOf(t, values)
		var got []string
		for _, line := range namespaced[2:] {
			got = append(got, strings.TrimPrefix(line, "coordination.k8s.io/"))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", values, diff)
		}
	}
}

// podOf is the pod of a DaemonSet that values give.
func podOf(t *testing.T, values string) (chartPod v1.PodTemplateSpec, files map[string]string) {
	t.Helper()
	of := rendered(t, values)[0]
	if of.Error != "" {
		t.Fatalf("%s: %s", values, of.Error)
	}
	return decoded[appsv1.DaemonSet](t, of.Files["workload.yaml"]).Spec.Template, of.Files
}

// Probes, the port of the pod and that of the Service are those at which the program listens.
func TestChart_ProbesAskWhereArgumentsHaveItListen(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"":                                    "127.0.0.1:10258",
		"port: 10260\nbindAddress: 192.0.2.1": "192.0.2.1:10260",
		"args: {secure-port: 10260, bind-address: 192.0.2.1}":                         "192.0.2.1:10260",
		"controllerExtraArgs: ['--secure-port=10260', '--bind-address', '192.0.2.1']": "192.0.2.1:10260",
		"args: {secure-port: null, bind-address: null}":                               "127.0.0.1:10258",
	} {
		pod, files := podOf(t, minimalValues+"service: {enabled: true}\n"+values)
		container := pod.Spec.Containers[0]
		for _, probe := range []*v1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
			if got := fmt.Sprintf("%s:%d", probe.HTTPGet.Host, probe.HTTPGet.Port.IntValue()); got != want {
				t.Errorf("%s: a probe of %s, want %s", values, got, want)
			}
		}
		_, port, _ := strings.Cut(want, ":")
		if got := fmt.Sprint(container.Ports[0].ContainerPort, container.Ports[0].HostPort); got != port+" "+port || !strings.Contains(files["monitoring.yaml"], "port: "+port+"\n") {
			t.Errorf("%s: the ports are %s, want %s", values, got, port)
		}
	}
}

// Names that look like numbers or booleans are text.
func TestChart_NamesAreText(t *testing.T) {
	t.Parallel()
	pod, files := podOf(t, minimalValues+`
serviceAccountName: "123"
clusterRoleName: "456"
secret: {name: "789", key: "0"}
priorityClassName: "true"
imagePullSecrets: ["1e3"]
serviceMonitor: {enabled: true}
`)
	got := fmt.Sprint(pod.Spec.ServiceAccountName, pod.Spec.Volumes[0].Secret.SecretName, pod.Spec.PriorityClassName, pod.Spec.ImagePullSecrets[0].Name)
	if got != "123789true1e3" {
		t.Errorf("the pod has %s", got)
	}
	for document := range strings.SplitSeq(files["rbac.yaml"]+"\n---\n"+files["secret.yaml"], "\n---\n") {
		if strings.TrimSpace(document) != "" {
			object(t, "numbers", []byte(document))
		}
	}
}

// The monitor finds labels that commonLabels changes.
func TestChart_MonitorSelectsLabelsThatServiceHas(t *testing.T) {
	t.Parallel()
	for _, values := range []string{"", "commonLabels: {app: x}", "commonLabels: {release: prometheus, team: a}", "selectorLabels: {a: b}\ncommonLabels: {a: c}"} {
		of := rendered(t, minimalValues+"serviceMonitor: {enabled: true}\n"+values)[0]
		if of.Error != "" {
			t.Fatal(of.Error)
		}
		documents := strings.Split(strings.TrimPrefix(strings.TrimSpace(of.Files["monitoring.yaml"]), "---\n"), "\n---\n")
		service := decoded[v1.Service](t, documents[0])
		var monitor struct {
			Spec struct {
				Selector struct{ MatchLabels map[string]string }
			}
		}
		if err := yaml.Unmarshal([]byte(documents[1]), &monitor); err != nil {
			t.Fatal(err)
		}
		if selected := monitor.Spec.Selector.MatchLabels; len(selected) == 0 || !labels.SelectorFromSet(selected).Matches(labels.Set(service.Labels)) {
			t.Errorf("%s: it selects %v, the Service has %v", values, selected, service.Labels)
		}
	}
}

// selecting is a command that selects pods in a page.
var selecting = regexp.MustCompile(`(?:--selector|-l)[ =]([-a-z0-9./]+=[-a-z0-9./]+)`)

// The commands in the pages find the pods of any installation.
func TestPages_SelectPodsOfEveryInstallation(t *testing.T) {
	t.Parallel()
	pods := map[string]map[string]string{"manifests/static": only[*appsv1.DaemonSet](t).Spec.Template.Labels}
	for name, values := range variants(t) {
		if of := rendered(t, values)[0]; strings.Contains(of.Files["workload.yaml"], "kind: Deployment") {
			pods[name] = decoded[appsv1.Deployment](t, of.Files["workload.yaml"]).Spec.Template.Labels
		} else {
			pods[name] = decoded[appsv1.DaemonSet](t, of.Files["workload.yaml"]).Spec.Template.Labels
		}
	}
	var pages []string
	for _, pattern := range []string{"../docs/*.md", "../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	count := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range selecting.FindAllStringSubmatch(string(text), -1) {
			key, value, _ := strings.Cut(found[1], "=")
			if value != "openstack-cloud-controller-manager" {
				continue
			}
			count++
			for name, has := range pods {
				if has[key] != value {
					t.Errorf("%s: %s finds no pod of %s, which has %v", page, found[0], name, has)
				}
			}
		}
	}
	if count < 10 {
		t.Errorf("%d commands: the pages have more", count)
	}
}
