package manifests_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/chart"
)

// refusal are invalid values, and the expected parts of the error.
type refusal struct{ values, want string }

func assertRefused(t *testing.T, cases []refusal) {
	t.Helper()
	var values []string
	for _, c := range cases {
		values = append(values, c.values)
	}
	for i, of := range rendered(t, values...) {
		if !strings.Contains(of.Error, cases[i].want) {
			t.Errorf("%s\nis refused with %q, which does not name %s", cases[i].values, of.Error, cases[i].want)
		}
	}
}

// Invalid values are refused before anything is installed, and the error names them.
//
//proves:119
func TestChart_RefusesValuesThatCannotWork(t *testing.T) {
	t.Parallel()
	cases := []refusal{
		{"", "cloudConfig.global.auth-url"},
		{minimalValues + "replica: 2", "replica"},
		{minimalValues + "kind: StatefulSet", "kind"},
		{minimalValues + "image: {digest: latest}", "digest"},
		{"cloudConfig: {global: {auth-url: 'https://k/v3', tenat-id: x}}", "tenat-id"},
		{"cloudConfig: {global: {auth-url: 'https://k/v3', password: 0123}}", "password"},
		{"cloudConfig: {global: {auth-url: 'https://k/v3'}, loadBalancer: {monitor-max-retries: 11}}", "monitor-max-retries"},
		{"cloudConfig: {global: {auth-url: 'https://k/v3'}, loadBalancer: {drift-policy: fix}}", "drift-policy"},
		{"cloudConfig: {global: {auth-url: 'https://k/v3'}, loadBalancerClass: {a: {max-shared-lb: 3}}}", "max-shared-lb"},
		{"cloudConfig: {global: {auth-url: 'https://k/v3'}, networks: {}}", "networks"},
		{minimalValues + "args: {concurent-service-syncs: 3}", "concurent-service-syncs"},
		{minimalValues + "enabledControllers: [nodes]", "enabledControllers"},
		{minimalValues + "networkPolicy: {enabled: true}", "hostNetwork=false"},
		{minimalValues + "podMonitor: {enabled: true}", "podMonitor.tokenSecret.name"},
		{minimalValues + "admissionPolicy: {enabled: true}\nkubeconfig: {secretName: there}", "manifests/"},
		{minimalValues + "readinessGates: {enabled: true}\nkubeconfig: {secretName: there}", "manifests/readiness-gates"},
	}
	assertRefused(t, cases)
	old, err := chart.Render(t.Context(), t.Logf,
		chart.Release{Name: "occm", Namespace: "kube-system", Values: minimalValues, KubeVersion: "v1.27.16"},
		chart.Release{Name: "occm", Namespace: "kube-system", Values: minimalValues + "admissionPolicy: {enabled: true}", KubeVersion: "v1.30.14"},
		chart.Release{Name: "occm", Namespace: "kube-system", Values: minimalValues + "readinessGates: {enabled: true}", KubeVersion: "v1.35.9"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(old[0].Error, "requires Kubernetes") {
		t.Errorf("on Kubernetes 1.27 it is %q", old[0].Error)
	}
	if !strings.Contains(old[1].Error, "needs Kubernetes 1.31") {
		t.Errorf("policies on Kubernetes 1.30 are %q", old[1].Error)
	}
	if !strings.Contains(old[2].Error, "needs Kubernetes 1.36") {
		t.Errorf("readiness gates on Kubernetes 1.35 are %q", old[2].Error)
	}
}

// Without leader election every pod is active, and each creates a load balancer for the same
// Service.
func TestChart_RefusesSeveralLeaders(t *testing.T) {
	t.Parallel()
	var cases []refusal
	for _, off := range []string{
		"leaderElection: {enabled: false}", "args: {leader-elect: false}", "args: {leader-elect: 'False'}",
		"controllerExtraArgs: '- --leader-elect=false'", "controllerExtraArgs: ['--v=3', --leader_elect=0]",
	} {
		for _, kind := range []string{"", "kind: Deployment", "kind: Deployment\nreplicas: 3"} {
			cases = append(cases, refusal{minimalValues + off + "\n" + kind, "leader election"})
		}
		one := minimalValues + off + "\nkind: Deployment\nreplicas: 1\n"
		cases = append(cases, refusal{one + "updateStrategy: {type: RollingUpdate}", "Recreate"}, refusal{one + "updateStrategy: {rollingUpdate: {maxSurge: 0}}", "Recreate"})
	}
	assertRefused(t, cases)
}

// One replica that is replaced, and not rolled, needs no lease.
func TestChart_OneReplicaWorksWithoutLeaderElection(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"", "updateStrategy: {type: Recreate}"} {
		of := rendered(t, minimalValues+"leaderElection: {enabled: false}\nkind: Deployment\nreplicas: 1\n"+more)[0]
		if of.Error != "" {
			t.Fatal(of.Error)
		}
		strategy := decoded[appsv1.Deployment](t, of.Files["workload.yaml"]).Spec.Strategy
		if strategy.Type != appsv1.RecreateDeploymentStrategyType || strings.Contains(of.Files["rbac.yaml"], "leases") {
			t.Errorf("strategy %s, rights\n%s", strategy.Type, of.Files["rbac.yaml"])
		}
	}
}

// The image of cloud-provider-openstack has no entrypoint, so arguments of flags alone start nothing.
func TestChart_RefusesImageOfCloudProviderOpenStack(t *testing.T) {
	t.Parallel()
	const theirs = "is the image of cloud-provider-openstack"
	var cases []refusal
	for _, repository := range []string{
		"registry.k8s.io/provider-os/openstack-cloud-controller-manager", "docker.io/k8scloudprovider/openstack-cloud-controller-manager",
		"k8scloudprovider/openstack-cloud-controller-manager", "mirror.example.org:5000/k8s/provider-os/openstack-cloud-controller-manager",
	} {
		cases = append(cases, refusal{fmt.Sprintf("%simage: {repository: %q, tag: v1.36.0}", minimalConf, repository), theirs})
	}
	assertRefused(t, append(cases, refusal{minimalConf, "image.repository is missing"}, refusal{minimalConf + "image: {tag: v1.36.0}", "image.repository is missing"}))
}

// Values that the API server would refuse, or drop, are refused before anything is installed.
func TestChart_RefusesWhatAPIServerWould(t *testing.T) {
	t.Parallel()
	var cases []refusal
	for values, want := range map[string]string{
		"port: 0":                "port",
		"port: 65536":            "port",
		"args: {secure-port: 0}": "secure-port",
		"controllerExtraArgs: ['--secure-port=http']":        "secure-port",
		"kind: Deployment\nreplicas: -1":                     "replicas",
		"terminationGracePeriodSeconds: -1":                  "terminationGracePeriodSeconds",
		"nameOverride: A B":                                  "nameOverride",
		"nameOverride: '-ccm'":                               "nameOverride",
		"serviceAccountName: null":                           "serviceAccountName",
		"serviceAccountName: 123":                            "serviceAccountName",
		"serviceAccountName: a/b":                            "serviceAccountName",
		"clusterRoleName: a/b":                               "clusterRoleName",
		"clusterRoleName: null":                              "clusterRoleName",
		"priorityClassName: System_Critical":                 "priorityClassName",
		"secret: {name: A_B}":                                "name",
		"secret: {name: null}":                               "name",
		"secret: {key: a/b}":                                 "key",
		"secret: {files: {'a b': text}}":                     "a b",
		"leaderElection: {name: Ours}":                       "name",
		"leaderElection: {namespace: null}":                  "namespace",
		"image: {repository: 'a b'}":                         "repository",
		"image: {tag: 'v1:2'}":                               "tag",
		"dnsPolicy: None":                                    "dnsPolicy",
		"updateStrategy: {typ: OnDelete}":                    "typ",
		"updateStrategy: {type: Recreate}":                   "DaemonSet",
		"kind: Deployment\nupdateStrategy: {type: OnDelete}": "Deployment",
		"affinity: {nodeAfinity: {}}":                        "nodeAfinity",
		"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {terms: []}}}": "terms",
		"tolerations: [{kye: a}]":                                                               "kye",
		"resources: {limit: {memory: 1Gi}}":                                                     "limit",
		"securityContext: {readonlyRootFilesystem: true}":                                       "readonlyRootFilesystem",
		"livenessProbe: {httpget: {}}":                                                          "livenessProbe",
		"extraEnv: [{name: A, valueFron: {}}]":                                                  "valueFron",
		"extraVolumes: [{emptyDir: {}}]":                                                        "name",
		"rbac: {extraRules: [{resource: [secrets]}]}":                                           "resource",
		"hostNetwork: false\nnetworkPolicy: {enabled: true, egress: [{form: []}]}":              "form",
		"podDisruptionBudget: {enabled: true}":                                                  "DaemonSet",
		"kind: Deployment\npodDisruptionBudget: {enabled: true, maxUnavailable: one}":           "maxUnavailable",
		"serviceMonitor: {enabled: true, interval: often}":                                      "interval",
		"kubeconfig: {secretName: there}":                                                       "rbac.create=false",
		"kubeconfig: {secretName: there}\nrbac: {create: false}\nmetricsReader: {create: true}": "metricsReader.create=false",
		"hostNetwork: false\nbindAddress: 127.0.0.1":                                            "bindAddress",
		"hostNetwork: false\ncontrollerExtraArgs: ['--bind-address', '::1']":                    "bind-address",
		"restartOnChange: true\nsecret: {create: false}":                                        "restartOnChange=false",
		"restartOnChange: true\nsecret: {enabled: false}":                                       "restartOnChange=false",
	} {
		cases = append(cases, refusal{minimalValues + values, want})
	}
	assertRefused(t, cases)
}
