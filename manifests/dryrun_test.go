package manifests_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
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

// kustomized is the Deployment that kubectl makes of the directory once a component is chosen in its
// kustomization, or none.
func kustomized(t *testing.T, component string) *appsv1.Deployment {
	t.Helper()
	program, err := controlplane.BuildKubectl(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	if err := os.CopyFS(directory, os.DirFS("dry-run")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(directory, "kustomization.yaml")
	text := string(readFile(t, file))
	if component != "" {
		chosen := strings.NewReplacer("# components:", "components:", "# - "+component+" #", "- "+component+" #").Replace(text)
		if strings.Count(chosen, "\n- "+component+" #") != 1 {
			t.Fatalf("the kustomization has no component %s:\n%s", component, text)
		}
		text = chosen
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), program, "kustomize", directory).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for document := range strings.SplitSeq(string(output), "\n---\n") {
		if found, is := object(t, "dry-run "+component, []byte(document)).(*appsv1.Deployment); is {
			return found
		}
	}
	t.Fatalf("there is no Deployment in\n%s", output)
	return nil
}

// The pod finds cloud.conf, and the certificate authorities that it names, where the installation that
// works has them.
func TestDryRun_FindsFilesOfEachInstallation(t *testing.T) {
	t.Parallel()
	for component, want := range map[string]struct{ conf, authorities, user string }{
		"":                  {"secret cloud-config", "image", "65532"},
		"host-certificates": {"secret cloud-config", "host /etc/ssl/certs", "65532"},
		"kubespray":         {"secret external-openstack-cloud-config", "host /etc/ssl/certs", "65532"},
		"magnum":            {"host /etc/kubernetes", "image", "0"},
	} {
		spec := kustomized(t, component).Spec.Template.Spec
		container := spec.Containers[0]
		file := strings.TrimPrefix(container.Args[slices.IndexFunc(container.Args, func(arg string) bool {
			return strings.HasPrefix(arg, "--cloud-config=")
		})], "--cloud-config=")
		if got := source(spec, filepath.Dir(file)); got != want.conf {
			t.Errorf("%q: %s is from %s, want %s", component, file, got, want.conf)
		}
		if got := source(spec, "/etc/ssl/certs"); got != want.authorities {
			t.Errorf("%q: certificate authorities are from %s, want %s", component, got, want.authorities)
		}
		if got := fmt.Sprint(*spec.SecurityContext.RunAsUser); got != want.user || !strings.HasPrefix(container.Image, "registry.example.org/") {
			t.Errorf("%q: image %s as user %s, want %s", component, container.Image, got, want.user)
		}
	}
	kubespray := kustomized(t, "kubespray").Spec.Template.Spec
	if got := source(kubespray, "/etc/kubernetes/external-openstack-cacert.pem"); got != "secret external-openstack-cloud-config ca.cert" {
		t.Errorf("kubespray's ca-file is from %s", got)
	}
}

// source is where a pod has a path from.
func source(spec v1.PodSpec, path string) string {
	for _, mount := range spec.Containers[0].VolumeMounts {
		if mount.MountPath != path {
			continue
		}
		for _, volume := range spec.Volumes {
			switch {
			case volume.Name != mount.Name:
			case volume.Secret != nil:
				return strings.TrimSpace("secret " + volume.Secret.SecretName + " " + mount.SubPath)
			case volume.HostPath != nil:
				return "host " + volume.HostPath.Path
			}
		}
	}
	return "image"
}
