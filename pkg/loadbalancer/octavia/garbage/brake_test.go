package garbage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/cleanup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// A controller that is there would make the same again, with other addresses.
func TestCleanup_LeavesAClusterAloneWhoseServersRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status string
		query  garbage.Query
		code   int
	}{
		"active, by its ID":   {"ACTIVE", garbage.Query{ClusterID: "c1"}, garbage.ExitUnclear},
		"active, by its name": {"ACTIVE", garbage.Query{ClusterName: "prod"}, garbage.ExitUnclear},
		"switched off":        {"SHUTOFF", garbage.Query{ClusterID: "c1"}, garbage.ExitClean},
		"in error":            {"ERROR", garbage.Query{ClusterName: "prod"}, garbage.ExitClean},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t)
			c := env.cluster("c1", "prod")
			c.ensure("web", 1)
			server := strings.TrimPrefix(c.node.Spec.ProviderID, "openstack:///")
			env.Cloud.Nova.SetStatus(server, test.status)
			before := env.books()
			env.Cloud.RequestLog.Reset()
			report := env.cleaned(garbage.Options{Query: test.query, Remove: true, Nova: env.session.Nova()}, test.code)
			if test.code == garbage.ExitClean {
				return
			}
			if writes := env.writes(); writes > 0 {
				t.Errorf("%d writes", writes)
			}
			env.became(before)
			for _, item := range report.Items {
				if item.State != garbage.LeftAlone || !item.Unclear || !strings.Contains(item.Why, server) || !strings.Contains(item.Why, "--force") {
					t.Errorf("%+v", item)
				}
			}
			if len(report.Items) != 3 {
				t.Errorf("%+v", report.Items)
			}
			env.cleaned(garbage.Options{Query: test.query, Remove: true}, garbage.ExitClean) // with --force
		})
	}
}

// A cluster is not taken for running by the servers of another one.
func TestCleanup_IsNotStoppedByServersOfOtherClusters(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	dead, living := env.cluster("c1", "prod"), env.cluster("c2", "test")
	dead.ensure("web", 1)
	living.ensure("web", 2)
	env.Cloud.Nova.SetStatus(strings.TrimPrefix(dead.node.Spec.ProviderID, "openstack:///"), "SHUTOFF")
	report := env.cleaned(garbage.Options{Query: garbage.Query{ClusterID: "c1"}, Remove: true, Nova: env.session.Nova()}, garbage.ExitClean)
	if len(report.Items) != 3 || len(env.Cloud.Octavia.Snapshot()) != 1 {
		t.Errorf("%+v", report.Items)
	}
}

// A mistake in the name of a cluster is no cluster that is clean.
func TestCleanup_TellsANameThatNothingCarriesFromACleanCluster(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	env.cluster("c1", "kubernetes").ensure("web", 1)
	env.left("test", "old")
	for name, query := range map[string]garbage.Query{
		"name":        {ClusterName: "kubernets"},
		"ID":          {ClusterID: "c9"},
		"both":        {ClusterID: "c9", ClusterName: "Kubernetes"},
		"a beginning": {ClusterName: "kube"},
	} {
		report := env.cleaned(garbage.Options{Query: query, Remove: true}, garbage.ExitNotCarried)
		var out bytes.Buffer
		env.check(cleanup.Report{Report: report}.WriteText(screen.New(&out, nil)))
		for _, want := range []string{"No object of this project has the ID or the name", "kubernetes, ID c1", "; test."} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in %s", name, want, out.String())
			}
		}
	}
	env.cleaned(garbage.Options{Query: garbage.Query{ClusterID: "c1", ClusterName: "kubernets"}}, garbage.ExitFound)
	env.cleaned(garbage.Options{Query: garbage.Query{ClusterID: "c1"}, Remove: true}, garbage.ExitClean)
	env.cleaned(garbage.Options{Query: garbage.Query{ClusterID: "c1"}, Remove: true}, garbage.ExitNotCarried)
}

func TestCleanup_SaysInWhichCloudItLooks(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	cloud := garbage.Cloud{AuthURL: "https://cloud.example.com/v3", Project: "p1", ProjectName: "prod\u202e", Region: "RegionOne"}
	report := env.cleaned(garbage.Options{Query: garbage.Query{ClusterID: "c1"}, Cloud: cloud}, garbage.ExitNotCarried)
	var text, object bytes.Buffer
	env.check(cleanup.Report{Report: report}.WriteText(screen.New(&text, nil)))
	env.check(cli.WriteJSON(&object, cleanup.Report{Report: report}))
	if !strings.HasPrefix(text.String(), "cloud https://cloud.example.com/v3, project prod? (p1), region RegionOne\n") {
		t.Errorf("%s", text.String())
	}
	var read struct {
		Kind    string
		Cloud   garbage.Cloud
		Carried bool
		Items   []garbage.Item
	}
	env.check(json.Unmarshal(object.Bytes(), &read))
	if read.Cloud != cloud || read.Kind != "Cleanup" || read.Carried || read.Items == nil {
		t.Errorf("%s", object.String())
	}
}

// Objects that are not removed when the run is interrupted are kept, and the report has them.
func TestCleanup_StopsWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	c := env.cluster("c1", "prod")
	c.ensure("web", 1)
	c.ensure("api", 2)
	ctx, stop := context.WithCancel(env.ctx)
	defer stop()
	env.ctx = ctx
	var said []string
	report, err := env.clean(garbage.Options{Query: garbage.Query{ClusterID: "c1"}, Remove: true, Progress: func(text string) {
		said = append(said, text)
		if strings.HasPrefix(text, "Removing") {
			stop()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if report.ExitCode() != garbage.ExitFailed || !report.Interrupted {
		t.Errorf("%+v", report)
	}
	for _, item := range report.Items {
		if item.State == garbage.Found && item.Why != "not removed: interrupted" {
			t.Errorf("%+v", item)
		}
	}
	if balancers := len(env.Cloud.Octavia.Snapshot()); balancers != 2 || len(said) == 0 {
		t.Errorf("%d load balancers, said %q", balancers, said)
	}
}
