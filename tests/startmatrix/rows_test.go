package startmatrix

import "slices"

// container is the spec of the container of the cloud controller manager in a pod.
type container struct {
	// name is the installer, and its kind of installation.
	name string
	// command replaces the image's entrypoint, args its command.
	command, args []string
	env           map[string]string
	// user and group are those of the security context; 0, root, where it names none.
	user, group int
	// readOnlyRoot and noEscalation are of the security context too. Its
	// "capabilities: drop: [ALL]" needs no field: users other than root have none.
	readOnlyRoot, noEscalation bool
	mounts                     []mount
	// rights are those of its service account, or of its kubeconfig.
	rights rights
	// lease is the name of its leader election lease, if it is not upstream's.
	lease string
	// namespace has its service account and its lease; empty is kube-system.
	namespace string
	// ours is set where the rights are those of our manifests: nothing may be missing.
	ours bool
	// nodesOnly runs no controller for Services, and has no rights to write them.
	nodesOnly bool
	// recipe is the page of docs/recipes with the commands that give the service account further
	// rights.
	recipe string
}

// mount is a volume of files.
type mount struct {
	path  string
	files map[string]content
	// single mounts the one file of it at the path (subPath).
	single bool
	// rootOnly is set for files of the host that only root may read.
	rootOnly bool
}

// otherLease keeps a second cloud controller manager out of the way of the first.
const otherLease = "openstack-cloud-controller-manager"

const program = "/bin/openstack-cloud-controller-manager"

func secret(path, file string, what content) mount {
	return mount{path: path, files: map[string]content{file: what}}
}

var (
	// hostCertificates are the certificate authorities that the host trusts. One of
	// them is private; who mounts them needs no ca-file for it.
	hostCertificates = secret("/etc/ssl/certs", "ca-certificates.crt", caBundle)
	clusterPKI       = secret("/etc/kubernetes/pki", "ca.crt", text("not read"))
	flexVolumes      = mount{path: "/usr/libexec/kubernetes/kubelet-plugins/volume/exec"}
	// variables are in cloud-provider-openstack's manifests and chart for $(…) in args.
	variables = map[string]string{"CLOUD_CONFIG": "/etc/config/cloud.conf", "CLUSTER_NAME": "kubernetes"}
)

// chart is the container of cloud-provider-openstack's Helm chart
// (charts/openstack-cloud-controller-manager, v1.36) with its default values, and with
// what controllerExtraArgs adds.
func chart(name string, extraArgs ...string) container {
	return container{
		name: name,
		args: append([]string{
			program, "--v=2", "--cloud-config=$(CLOUD_CONFIG)", "--cluster-name=$(CLUSTER_NAME)", "--cloud-provider=openstack",
			"--use-service-account-credentials=false", "--controllers=cloud-node,cloud-node-lifecycle,route,service", "--bind-address=127.0.0.1",
		}, extraArgs...),
		env: variables, user: 1001,
		mounts: []mount{secret("/etc/config", "cloud.conf", cloudConf), flexVolumes, clusterPKI},
		rights: peerRights,
	}
}

// rows are where cloud-provider-openstack runs today.
func rows() []container {
	return append(slices.Concat(peerRows(), []container{
		// The charts of Cluster API's addon provider (azimuth-cloud/capi-helm-charts,
		// cluster-addons) give values to the chart, and one flag a second time.
		chart("Cluster API addon", "--use-service-account-credentials=false"),
		hardened(chart("RKE2 and k3s, HelmChart", "--leader-elect-resource-name="+otherLease)),
	}), otherRows()...)
}

// recipeRows are installations of other tools as docs/recipes leaves them: the objects of the tool, those
// that the page applies, and our image.
func recipeRows() []container {
	var all []container
	for _, row := range rows() {
		page := map[string]string{
			"Magnum": "magnum.md", "kubespray": "kubespray.md", "cloud-provider-openstack, DaemonSet": "kubeadm.md",
			"cloud-provider-openstack, static pod": "talos.md",
		}[row.name]
		if page == "" {
			continue
		}
		row.name, row.recipe = row.name+", after its recipe", page
		all = append(all, row)
	}
	return all
}

// peerRows are the manifests and the chart of cloud-provider-openstack itself
// (manifests/controller-manager and charts, v1.36).
func peerRows() []container {
	daemonSet := container{
		name: "cloud-provider-openstack, DaemonSet",
		args: []string{
			program, "--v=1", "--cluster-name=$(CLUSTER_NAME)", "--cloud-config=$(CLOUD_CONFIG)", "--cloud-provider=openstack",
			"--use-service-account-credentials=false", "--bind-address=127.0.0.1",
		},
		env: variables, user: 1001,
		mounts: []mount{clusterPKI, hostCertificates, secret("/etc/config", "cloud.conf", secureConf)},
		rights: peerRights,
	}
	pod := daemonSet
	pod.name = "cloud-provider-openstack, static pod"
	pod.args = slices.Clone(daemonSet.args)
	pod.args[5] = "--use-service-account-credentials=true"
	return []container{daemonSet, pod, chart("cloud-provider-openstack, chart")}
}

// hardened has the security context that the chart's values propose, and that RKE2's
// hardening guide asks for. RKE2 and k3s install the chart (helm.cattle.io HelmChart);
// a second lease keeps it apart from their own cloud controller.
func hardened(c container) container {
	c.readOnlyRoot, c.noEscalation, c.lease = true, true, otherLease
	return c
}

// otherRows are installations with templates of their own.
func otherRows() []container {
	const sharedKubeconfig = "/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig"
	return []container{{
		// kubeadm reads static pods from /etc/kubernetes/manifests: no Secrets, no
		// service account, but files of the host, which belong to root.
		name:    "kubeadm, static pod",
		command: []string{program},
		args: []string{
			"--cloud-provider=openstack", "--cloud-config=/etc/kubernetes/cloud.conf", "--cluster-name=kubernetes", "--bind-address=127.0.0.1",
			"--kubeconfig=/etc/kubernetes/controller-manager.conf", "--authentication-kubeconfig=/etc/kubernetes/controller-manager.conf",
			"--authorization-kubeconfig=/etc/kubernetes/controller-manager.conf", "--leader-elect=true", "--use-service-account-credentials=true",
		},
		mounts: []mount{hostCertificates, {path: "/etc/kubernetes", rootOnly: true, files: map[string]content{
			"cloud.conf": secureConf, "controller-manager.conf": kubeconfig,
		}}},
		rights: allRights,
	}, {
		// gardener-extension-provider-openstack, seed-controlplane chart: it runs in
		// another cluster than the one that it serves.
		name: "Gardener",
		command: []string{
			program, "--allocate-node-cidrs=true", "--cloud-provider=openstack", "--cloud-config=/etc/kubernetes/cloudprovider/cloudprovider.conf",
			"--cluster-cidr=100.96.0.0/11", "--cluster-name=shoot--foo--bar", "--concurrent-service-syncs=10", "--configure-cloud-routes=true",
			"--feature-gates=InPlacePodVerticalScaling=true,CloudControllerManagerWebhook=false",
			"--kubeconfig=" + sharedKubeconfig, "--authentication-kubeconfig=" + sharedKubeconfig, "--authorization-kubeconfig=" + sharedKubeconfig,
			"--leader-elect=true", "--secure-port=10258",
			"--tls-cert-file=/var/lib/cloud-controller-manager-server/tls.crt", "--tls-private-key-file=/var/lib/cloud-controller-manager-server/tls.key",
			"--tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "--use-service-account-credentials",
			"--user-agent=gardener", "--user-agent=shoot--foo--bar", "--v=2",
		},
		user: 2000, group: 2000, noEscalation: true,
		mounts: []mount{
			secret("/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig", "kubeconfig", kubeconfig),
			{path: "/var/lib/cloud-controller-manager-server", files: map[string]content{"tls.crt": servingCertificate, "tls.key": servingKey}},
			secret("/etc/kubernetes/cloudprovider", "cloudprovider.conf", secureConf),
			{path: "/usr/share/ca-certificates"}, secret("/etc/ssl", "certs/ca-certificates.crt", caBundle),
		},
		rights: allRights,
	}, {
		// openstack/magnum, fragments/kube-apiserver-to-kubelet-role.sh, with its role.
		name: "Magnum",
		command: []string{
			program, "--v=2", "--cloud-config=/etc/kubernetes/cloud-config-occm", "--cloud-provider=openstack",
			"--cluster-name=8f0a5f0e-7d5c-4d2e-9b1a-3c2d1e0f9a8b", "--use-service-account-credentials=true", "--bind-address=127.0.0.1",
		},
		mounts: []mount{{path: "/etc/kubernetes", rootOnly: true, files: map[string]content{
			"cloud-config-occm": confWithCA("/etc/kubernetes/ca-bundle.crt"), "ca-bundle.crt": caBundle,
		}}},
		rights: magnumRights,
	}, {
		// kubernetes-sigs/kubespray, external_cloud_controller/openstack.
		name: "kubespray",
		args: []string{
			program, "--v=1", "--cloud-config=$(CLOUD_CONFIG)", "--cloud-provider=openstack", "--cluster-name=cluster.local",
			"--use-service-account-credentials=true", "--bind-address=127.0.0.1",
		},
		env: map[string]string{"CLOUD_CONFIG": "/etc/config/cloud.conf"}, user: 999,
		mounts: []mount{
			clusterPKI, secret("/etc/ssl/certs", "README", text("a host without a bundle here")), {path: "/etc/pki/tls"}, {path: "/etc/pki/ca-trust"},
			{path: "/etc/config/cloud.conf", single: true, files: map[string]content{"cloud.conf": confWithCA("/etc/kubernetes/external-openstack-cacert.pem")}},
			{path: "/etc/kubernetes/external-openstack-cacert.pem", single: true, files: map[string]content{"ca.cert": caBundle}},
			flexVolumes,
		},
		rights: peerRights,
	}, {
		// Kubermatic (pkg/resources/cloudcontroller) splits command and args, and names
		// the certificate authorities by the variable that Go knows.
		name:    "Kubermatic",
		command: []string{program},
		args: []string{
			"--kubeconfig=/etc/kubernetes/kubeconfig/kubeconfig", "--v=1", "--cloud-config=/etc/kubernetes/cloud/config",
			"--cloud-provider=openstack", "--cluster-name=k8s", "--bind-address=127.0.0.1",
		},
		env: map[string]string{"SSL_CERT_FILE": "/etc/kubermatic/certs/ca-bundle.pem"}, user: 1001,
		mounts: []mount{
			secret("/etc/kubernetes/kubeconfig", "kubeconfig", kubeconfig), secret("/etc/kubernetes/cloud", "config", secureConf),
			secret("/etc/kubermatic/certs", "ca-bundle.pem", caBundle),
		},
		rights: allRights,
	}}
}
