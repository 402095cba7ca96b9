package manifests_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

//proves:90
func TestDryRun_MayOnlyReadAndWriteItsLease(t *testing.T) {
	t.Parallel()
	var rules []rbacv1.PolicyRule
	for _, object := range objectsOf(t, "dry-run") {
		switch role := object.(type) {
		case *rbacv1.ClusterRole:
			rules = append(rules, role.Rules...)
		case *rbacv1.Role:
			rules = append(rules, role.Rules...)
		}
	}
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			switch writes := slices.DeleteFunc(slices.Clone(rule.Verbs), isRead); resource {
			case "tokenreviews", "subjectaccessreviews":
			case "leases":
				named := slices.Equal(rule.ResourceNames, []string{"cloud-controller-manager-dry-run"})
				if !slices.Equal(writes, []string{"create"}) && !named {
					t.Errorf("%v of any lease", writes)
				}
			default:
				if len(writes) > 0 {
					t.Errorf("%v of %s", writes, resource)
				}
			}
		}
	}
	if len(rules) == 0 {
		t.Error("there are no rules")
	}
}

func isRead(verb string) bool { return slices.Contains([]string{"get", "list", "watch"}, verb) }

// What differs from the pod that works is what makes it a dry run.
func TestDryRun_PodIsThatOfStaticWithoutItsPlace(t *testing.T) {
	t.Parallel()
	working, dry := only[*appsv1.DaemonSet](t).Spec.Template.Spec, deployment(t).Spec.Template.Spec
	if diff := cmp.Diff(working.SecurityContext, dry.SecurityContext); diff != "" {
		t.Errorf("security context of the pod (-static +dry-run):\n%s", diff)
	}
	if diff := cmp.Diff(working.Volumes, dry.Volumes); diff != "" {
		t.Errorf("volumes (-static +dry-run):\n%s", diff)
	}
	static, own := working.Containers[0], dry.Containers[0]
	if diff := cmp.Diff(static.SecurityContext, own.SecurityContext); diff != "" {
		t.Errorf("security context of the container (-static +dry-run):\n%s", diff)
	}
	if diff := cmp.Diff(static.VolumeMounts, own.VolumeMounts); diff != "" {
		t.Errorf("mounts (-static +dry-run):\n%s", diff)
	}
	args := slices.DeleteFunc(slices.Clone(static.Args), func(arg string) bool {
		return strings.HasPrefix(arg, "--leader-elect=") || strings.HasPrefix(arg, "--bind-address=") // its default, and that of a pod
	})
	if diff := cmp.Diff(append([]string{"--dry-run"}, args...), own.Args); diff != "" {
		t.Errorf("args (-static +dry-run):\n%s", diff)
	}
	if dry.HostNetwork {
		t.Error("it takes the port of the one that works")
	}
}

func deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	for _, object := range objectsOf(t, "dry-run") {
		if found, is := object.(*appsv1.Deployment); is {
			return found
		}
	}
	t.Fatal("there is no Deployment")
	return nil
}
