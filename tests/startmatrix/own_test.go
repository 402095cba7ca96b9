package startmatrix

import (
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
)

// ownRows are our own DaemonSet, as kubectl makes it: as it is, and where hosts have
// certificates of their own.
func ownRows(t *testing.T, env *environment) []container {
	t.Helper()
	kubectl(t, env, "", "apply", "-f", filepath.Join(moduleRoot(t), "manifests", "static", "rbac.yaml"))
	return []container{ownRow(t, env.plane, "static", cloudConf), ownRow(t, env.plane, "host-certificates", secureConf)}
}

func ownRow(t *testing.T, plane *controlplane.ControlPlane, directory string, conf content) container {
	t.Helper()
	return rowOf(t, "manifests "+directory, daemonSet(t, plane, directory).Spec.Template.Spec, map[string]content{"cloud.conf": conf})
}

// rowOf returns the container of a pod of this project, with the files of its Secret.
func rowOf(t *testing.T, name string, pod corev1.PodSpec, files map[string]content) container {
	t.Helper()
	ccm := pod.Containers[0]
	row := container{
		name: name, command: ccm.Command, args: ccm.Args, env: map[string]string{},
		user: int(*pod.SecurityContext.RunAsUser), group: int(*pod.SecurityContext.RunAsGroup),
		readOnlyRoot: *ccm.SecurityContext.ReadOnlyRootFilesystem, noEscalation: !*ccm.SecurityContext.AllowPrivilegeEscalation,
		rights: rights(pod.ServiceAccountName), ours: true,
	}
	for _, variable := range ccm.Env {
		row.env[variable.Name] = variable.Value
	}
	volumes := map[string]corev1.Volume{}
	for _, volume := range pod.Volumes {
		volumes[volume.Name] = volume
	}
	for _, m := range ccm.VolumeMounts {
		switch volume := volumes[m.Name]; {
		case volume.Secret != nil:
			row.mounts = append(row.mounts, mount{path: m.MountPath, files: files})
		case volume.HostPath != nil && volume.HostPath.Path == hostCertificates.path:
			row.mounts = append(row.mounts, secret(m.MountPath, "ca-certificates.crt", caBundle))
		case volume.HostPath != nil:
			row.mounts = append(row.mounts, mount{path: m.MountPath}) // made by kubelet
		default:
			t.Fatalf("%s mounts %+v", name, volume)
		}
	}
	return row
}

// daemonSet is what kubectl finds in one of our directories.
func daemonSet(t *testing.T, plane *controlplane.ControlPlane, directory string) appsv1.DaemonSet {
	t.Helper()
	text, err := plane.Kubectl(t.Context(), "", "kustomize", filepath.Join(moduleRoot(t), "manifests", directory))
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range strings.Split(text, "\n---\n") {
		var found appsv1.DaemonSet
		if err := yaml.Unmarshal([]byte(document), &found); err == nil && found.Kind == "DaemonSet" {
			return found
		}
	}
	t.Fatalf("there is no DaemonSet in manifests/%s", directory)
	return appsv1.DaemonSet{}
}

// servingPair is a certificate for the program's own port.
func servingPair(t *testing.T) (certificate, key string) {
	t.Helper()
	c, k, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(c), string(k)
}
