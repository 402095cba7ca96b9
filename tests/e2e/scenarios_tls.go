package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"path"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/secrets"
	corev1 "k8s.io/api/core/v1"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/cost"
)

// terminatesTLS serves HTTPS to clients, and HTTP to nodes, with certificates from Barbican: one in a bundle, then one
// in a container. No request fails during the change. At the end the Service names a certificate that does not exist.
func terminatesTLS(s *scene) {
	s.behindAmphora()
	if s.Cloud.API().KeyManager == nil {
		s.Skip("this needs Barbican")
	}
	const reference = prefix + "default-tls-container-ref"
	first, second := newCertificate(s, "first"), newCertificate(s, "second")
	bundle, container := s.storeBundle(first), s.storeContainer(second)
	took := s.meter()
	web := s.create("web", func(svc *corev1.Service) {
		svc.Annotations[reference] = bundle
		svc.Annotations[prefix+"x-forwarded-for"] = "true"
		svc.Annotations[prefix+"x-forwarded-proto"] = "true"
	}, nodeNames()...)
	address := at(web.address(), 8080)
	s.listens(web, "TERMINATED_HTTPS", "HTTP")
	s.answeredBy(s.trusting(first), address, nodeNames()...)
	s.nodesSee(s.trusting(first), address, "X-Forwarded-Proto: https")
	s.nodesSee(s.trusting(first), address, "X-Forwarded-For: ")
	took("create", cost.Create(0))

	stop := s.unharmed(s.trusting(first, second), address)
	web.annotate(reference, container)
	s.answeredBy(s.trusting(second), address, nodeNames()...)
	stop()
	took("another certificate", cost.Cost{Writes: 1, Cycles: 1})

	s.must(secrets.Delete(s.Context(), s.Cloud.API().KeyManager, path.Base(bundle)).ExtractErr())
	web.annotate(reference, bundle)
	web.tells("Barbican has no such container or secret")
	s.answeredBy(s.trusting(second), address, nodeNames()...)
	took("a certificate that does not exist", cost.Nothing())
	web.remove()
	s.nothingLeft()
}

// serverName is the name of the host in all certificates.
const serverName = "web.example"

// trusting returns the client outside that speaks TLS and accepts only these certificates.
func (s *scene) trusting(certificates ...certificate) cluster.Client {
	client := s.outside()
	client.TLS = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: serverName, MinVersion: tls.VersionTLS12}
	for _, accepted := range certificates {
		client.TLS.RootCAs.AddCert(accepted.leaf)
	}
	return client
}

// certificate is one that signs itself.
type certificate struct {
	name string
	leaf *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCertificate(s *scene, name string) certificate {
	s.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{serverName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	s.must(err)
	leaf, err := x509.ParseCertificate(der)
	s.must(err)
	return certificate{name, leaf, key}
}

// storeBundle stores a certificate with its key in one secret, as PKCS #12, and returns the reference.
func (s *scene) storeBundle(c certificate) (ref string) {
	s.Helper()
	bundle, err := pkcs12.Modern.Encode(c.key, c.leaf, nil, "")
	s.must(err)
	return s.store(c.name, secrets.OpaqueSecret, bundle)
}

// storeContainer stores a certificate and its key in a secret each, and both in a container, and returns the
// container's reference.
func (s *scene) storeContainer(c certificate) (ref string) {
	s.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(c.key)
	s.must(err)
	text := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	keys := s.Cloud.API().KeyManager
	made, err := containers.Create(s.Context(), keys, containers.CreateOpts{
		Type: containers.CertificateContainer, Name: s.Cloud.Prefix() + c.name,
		SecretRefs: []containers.SecretRef{
			{Name: "certificate", SecretRef: s.store(c.name, secrets.CertificateSecret, text("CERTIFICATE", c.leaf.Raw))},
			{Name: "private_key", SecretRef: s.store(c.name, secrets.PrivateSecret, text("PRIVATE KEY", key))},
		},
	}).Extract()
	s.must(err)
	s.Cleanup(func() {
		_ = containers.Delete(context.WithoutCancel(s.Context()), keys, path.Base(made.ContainerRef)).ExtractErr()
	})
	return made.ContainerRef
}

// store stores a secret in Barbican until the scene ends, and returns the reference.
func (s *scene) store(name string, kind secrets.SecretType, payload []byte) (ref string) {
	s.Helper()
	keys := s.Cloud.API().KeyManager
	made, err := secrets.Create(s.Context(), keys, secrets.CreateOpts{
		Name: s.Cloud.Prefix() + name, SecretType: kind, Payload: base64.StdEncoding.EncodeToString(payload),
		PayloadContentType: "application/octet-stream", PayloadContentEncoding: "base64",
	}).Extract()
	s.must(err)
	s.Cleanup(func() {
		_ = secrets.Delete(context.WithoutCancel(s.Context()), keys, path.Base(made.SecretRef)).ExtractErr()
	})
	return made.SecretRef
}
