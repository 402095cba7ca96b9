package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
)

// rightsKinds are the kinds of manifests that say what the cloud controller
// manager may do.
var rightsKinds = []string{"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}

// Installation is what manifests/static makes of a cluster, as far as a process
// outside of it can take the place of the pods.
type Installation struct {
	// Kubeconfig has the rights of the pods.
	Kubeconfig string
	// Args are the flags of the container.
	Args []string
}

// Install applies the rights in manifests/static, and reads the rest.
func Install(ctx context.Context, plane *controlplane.ControlPlane) (Installation, error) {
	return InstallFrom(ctx, plane, "static")
}

// InstallFrom does the same for another directory of manifests.
func InstallFrom(ctx context.Context, plane *controlplane.ControlPlane, name string) (Installation, error) {
	root, err := controlplane.ModuleRoot(ctx)
	if err != nil {
		return Installation{}, err
	}
	m, err := readManifests(filepath.Join(root, "manifests", name))
	if err != nil {
		return Installation{}, err
	}
	if err := plane.Apply(ctx, strings.Join(m.rights, "\n---\n")); err != nil {
		return Installation{}, fmt.Errorf("apply the rights of the cloud controller manager: %w", err)
	}
	kubeconfig, err := plane.ServiceAccountKubeconfig(ctx, m.namespace, m.serviceAccount)
	return Installation{Kubeconfig: kubeconfig, Args: m.args}, err
}

// manifests are those of an installation, by what they are for.
type manifests struct {
	rights                    []string
	namespace, serviceAccount string
	args                      []string
}

func readManifests(directory string) (manifests, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil {
		return manifests{}, err
	}
	var m manifests
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return manifests{}, err
		}
		for _, document := range strings.Split("\n"+string(content), "\n---") {
			if err := m.add(document); err != nil {
				return manifests{}, fmt.Errorf("read %s: %w", file, err)
			}
		}
	}
	if m.serviceAccount == "" || m.args == nil {
		return manifests{}, fmt.Errorf("no ServiceAccount, or neither DaemonSet nor Deployment, in %s", directory)
	}
	return m, nil
}

func (m *manifests) add(document string) error {
	var object metav1.PartialObjectMetadata
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		return err
	}
	if slices.Contains(rightsKinds, object.Kind) {
		m.rights = append(m.rights, document)
	}
	switch object.Kind {
	case "ServiceAccount":
		if m.serviceAccount != "" {
			return errors.New("there is more than one ServiceAccount")
		}
		m.namespace, m.serviceAccount = object.Namespace, object.Name
	case "DaemonSet":
		var daemonSet appsv1.DaemonSet
		if err := yaml.Unmarshal([]byte(document), &daemonSet); err != nil {
			return err
		}
		m.args = daemonSet.Spec.Template.Spec.Containers[0].Args
	case "Deployment":
		var deployment appsv1.Deployment
		if err := yaml.Unmarshal([]byte(document), &deployment); err != nil {
			return err
		}
		m.args = deployment.Spec.Template.Spec.Containers[0].Args
	}
	return nil
}
