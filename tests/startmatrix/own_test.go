package startmatrix

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"
)

// ownRows are our own DaemonSet, as it is.
func ownRows(t *testing.T) []container {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(moduleRoot(t), "manifests", "static", "daemonset.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var daemonSet appsv1.DaemonSet
	if err := yaml.UnmarshalStrict(bytes.TrimSpace(content), &daemonSet); err != nil {
		t.Fatal(err)
	}
	pod := daemonSet.Spec.Template.Spec
	ccm := pod.Containers[0]
	row := container{
		name: "our own DaemonSet", command: ccm.Command, args: ccm.Args,
		user: int(*pod.SecurityContext.RunAsUser), group: int(*pod.SecurityContext.RunAsGroup),
		readOnlyRoot: *ccm.SecurityContext.ReadOnlyRootFilesystem, noEscalation: !*ccm.SecurityContext.AllowPrivilegeEscalation,
		rights: ownRights,
	}
	for _, m := range ccm.VolumeMounts {
		row.mounts = append(row.mounts, secret(m.MountPath, "cloud.conf", cloudConf))
	}
	return []container{row}
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
