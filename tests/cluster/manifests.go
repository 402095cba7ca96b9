package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
)

// rightsKinds are the kinds of manifests that say what the cloud controller
// manager may do.
var rightsKinds = []string{"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}

// CCMKubeconfig applies the rights in manifests/static and returns a kubeconfig
// of the service account there: a process that uses it may do what the pods of
// an installation may.
func CCMKubeconfig(ctx context.Context, plane *controlplane.ControlPlane) (string, error) {
	root, err := controlplane.ModuleRoot(ctx)
	if err != nil {
		return "", err
	}
	rights, err := readRights(filepath.Join(root, "manifests", "static"))
	if err != nil {
		return "", err
	}
	if _, err := plane.Kubectl(ctx, strings.Join(rights.manifests, "\n---\n"), "apply", "-f", "-"); err != nil {
		return "", fmt.Errorf("apply the rights of the cloud controller manager: %w", err)
	}
	return plane.ServiceAccountKubeconfig(ctx, rights.namespace, rights.serviceAccount)
}

// rights are the manifests to apply, and the service account among them.
type rights struct {
	manifests                 []string
	namespace, serviceAccount string
}

func readRights(directory string) (rights, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil {
		return rights{}, err
	}
	var r rights
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return rights{}, err
		}
		for _, document := range strings.Split("\n"+string(content), "\n---") {
			if err := r.add(document); err != nil {
				return rights{}, fmt.Errorf("read %s: %w", file, err)
			}
		}
	}
	if r.serviceAccount == "" {
		return rights{}, fmt.Errorf("no ServiceAccount in %s", filepath.Join(directory, "*.yaml"))
	}
	return r, nil
}

func (r *rights) add(document string) error {
	var object metav1.PartialObjectMetadata
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		return err
	}
	if !slices.Contains(rightsKinds, object.Kind) {
		return nil
	}
	r.manifests = append(r.manifests, document)
	if object.Kind != "ServiceAccount" {
		return nil
	}
	if r.serviceAccount != "" {
		return errors.New("there is more than one ServiceAccount")
	}
	r.namespace, r.serviceAccount = object.Namespace, object.Name
	return nil
}
