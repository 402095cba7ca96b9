package controlplane

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

// adminUser is the name of the administrator; group system:masters may do everything.
const adminUser, adminGroup = "admin", "system:masters"

// tokenLifetime is that of the tokens in service accounts' kubeconfigs.
const tokenLifetime = 24 * time.Hour

// Config returns a copy of the administrator's client configuration, without a
// limit on requests per second.
func (c *ControlPlane) Config() *rest.Config { return rest.CopyConfig(c.admin) }

// AdminKubeconfig is the path of a kubeconfig with which everything is allowed.
// The file goes when the control plane stops, as those of the other methods do.
func (c *ControlPlane) AdminKubeconfig() string { return c.kubeconfigPath(adminUser) }

// Kubeconfig writes a kubeconfig for the user, a member of the groups, and
// returns its path. What the user may do is for RBAC to say.
func (c *ControlPlane) Kubeconfig(user string, groups ...string) (string, error) {
	pair, err := c.pki.ca.clientCertificate(user, groups)
	if err != nil {
		return "", fmt.Errorf("write a kubeconfig for %s: %w", user, err)
	}
	return c.writeKubeconfig(user, &clientcmdapi.AuthInfo{
		ClientCertificateData: pair.Certificate,
		ClientKeyData:         pair.Key,
	})
}

// ServiceAccountKubeconfig writes a kubeconfig with a token of the service
// account, good for a day, and returns its path. A program that uses it has the
// rights that it would have as a pod. The service account must exist.
func (c *ControlPlane) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	answer, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(tokenLifetime.Seconds()))},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("ask for a token of service account %s/%s: %w", namespace, name, err)
	}
	return c.writeKubeconfig(namespace+"."+name, &clientcmdapi.AuthInfo{Token: answer.Status.Token})
}

func (c *ControlPlane) writeKubeconfig(name string, user *clientcmdapi.AuthInfo) (string, error) {
	const here = "test"
	config := clientcmdapi.NewConfig()
	config.Clusters[here] = &clientcmdapi.Cluster{Server: c.admin.Host, CertificateAuthorityData: c.pki.ca.PEM}
	config.AuthInfos[name] = user
	config.Contexts[here] = &clientcmdapi.Context{Cluster: here, AuthInfo: name}
	config.CurrentContext = here
	path := c.kubeconfigPath(name)
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("write the kubeconfig of %s: %w", name, err)
	}
	return path, nil
}

// kubeconfigPath may hold a user's name as it is: users like system:node:a have
// no slash.
func (c *ControlPlane) kubeconfigPath(name string) string {
	return filepath.Join(c.dir.path, name+".kubeconfig")
}
