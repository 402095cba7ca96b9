package startmatrix

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// content is that of a file in a volume.
type content func(*facts) string

// facts are what volumes have of this cloud and cluster.
type facts struct {
	plainConf, secureConf, caBundle string
	apiServer                       *net.TCPAddr
	apiServerCA, token              string
	servingCertificate, servingKey  string
}

func text(t string) content { return func(*facts) string { return t } }

// cloudConf signs in without encryption; secureConf at a Keystone with a certificate of a private
// authority, which the system must trust.
func cloudConf(f *facts) string          { return f.plainConf }
func secureConf(f *facts) string         { return f.secureConf }
func caBundle(f *facts) string           { return f.caBundle }
func servingCertificate(f *facts) string { return f.servingCertificate }
func servingKey(f *facts) string         { return f.servingKey }

// confWithCA trusts nothing but the file.
func confWithCA(file string) content {
	return func(f *facts) string { return strings.Replace(f.secureConf, "[Global]", "[Global]\nca-file="+file, 1) }
}

// kubeconfig is one with the token of the row's service account.
func kubeconfig(f *facts) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
"clusters": [{"name": "c", "cluster": {"server": "https://%s", "certificate-authority-data": %q}}],
"users": [{"name": "u", "user": {"token": %q}}]}`, f.apiServer, base64(f.apiServerCA), f.token)
}

// serviceAccount is what kubelet mounts into every pod.
func serviceAccount(f *facts) mount {
	return mount{path: "/var/run/secrets/kubernetes.io/serviceaccount", files: map[string]content{
		"token": text(f.token), "ca.crt": text(f.apiServerCA), "namespace": text("kube-system"),
	}}
}

// sandbox is a container that is ready to run.
type sandbox struct {
	// Root is its file system, Mounts are directories and files beside it by the path
	// at which it sees them.
	Root   string
	Mounts map[string]string
	// Argv and Env are those of the program.
	Argv, Env                  []string
	User, Group                int
	ReadOnlyRoot, NoEscalation bool
}

// nobody is the user who owns the files of the image and of volumes if the test is root, so that
// the program can read only files that are readable for all users.
const nobody = 65534

// prepare does what kubelet and the container runtime do. More arguments come last.
func (c container) prepare(i image, f *facts, directory string, more ...string) (sandbox, error) {
	s := sandbox{
		Root: filepath.Join(directory, "root"), Mounts: map[string]string{},
		User: c.user, Group: c.group, ReadOnlyRoot: c.readOnlyRoot, NoEscalation: c.noEscalation,
		Argv: append(append(slices.Clone(c.command), c.args...), more...),
		Env:  []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME=node-1"},
	}
	if c.command == nil {
		s.Argv = append(slices.Clone(i.entrypoint), s.Argv...)
	}
	for n, argument := range s.Argv {
		s.Argv[n] = expand(argument, c.env)
	}
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		s.Env = append(s.Env, name+"="+c.env[name])
	}
	s.Env = append(s.Env, "KUBERNETES_SERVICE_HOST="+f.apiServer.IP.String(), fmt.Sprintf("KUBERNETES_SERVICE_PORT=%d", f.apiServer.Port))
	if err := i.unpack(s.Root); err != nil {
		return s, err
	}
	if err := os.Mkdir(filepath.Join(s.Root, "proc"), 0o755); err != nil {
		return s, err
	}
	for n, m := range append(slices.Clone(c.mounts), serviceAccount(f)) {
		if err := s.add(m, f, filepath.Join(directory, fmt.Sprint("volume-", n))); err != nil {
			return s, err
		}
	}
	return s, s.own(directory)
}

// expand does what kubelet does with command and args.
func expand(text string, env map[string]string) string {
	return regexp.MustCompile(`\$\([A-Z_]+\)`).ReplaceAllStringFunc(text, func(reference string) string {
		if value, ok := env[strings.Trim(reference, "$()")]; ok {
			return value
		}
		return reference
	})
}

// add writes a volume into a directory, and makes the place for its mount.
func (s *sandbox) add(m mount, f *facts, directory string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	for name, what := range m.files {
		file := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if m.rootOnly {
			mode = 0o600
		}
		if err := os.WriteFile(file, []byte(what(f)), mode); err != nil {
			return err
		}
		if m.single {
			directory = file
		}
	}
	s.Mounts[m.path] = directory
	place := filepath.Join(s.Root, m.path)
	if !m.single {
		return os.MkdirAll(place, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return err
	}
	return os.WriteFile(place, nil, 0o644)
}

// own makes that user the owner of all files, unless the program runs as root.
func (s *sandbox) own(directory string) error {
	if os.Getuid() != 0 || s.User == 0 {
		return nil
	}
	return filepath.WalkDir(directory, func(path string, _ fs.DirEntry, err error) error {
		return cmp.Or(err, os.Lchown(path, nobody, nobody))
	})
}

// withPrefix returns the same container without namespaces: a process of the test's own user, with
// the actual paths of the files in its arguments and variables. It proves less.
func (s *sandbox) withPrefix(f *facts, directory string) (argv, env []string, err error) {
	actual := func(value string) string {
		for path, source := range s.Mounts {
			if rest, ok := strings.CutPrefix(value, path); ok {
				return source + rest
			}
		}
		return value
	}
	for n, argument := range s.Argv {
		name, value, given := strings.Cut(argument, "=")
		switch {
		case given:
			argument = name + "=" + actual(value)
		case n == 0:
			argument = filepath.Join(s.Root, argument)
		}
		argv = append(argv, argument)
	}
	env = s.Env
	for path, source := range s.Mounts {
		if path == hostCertificates.path {
			env = append(env, "SSL_CERT_FILE="+filepath.Join(source, "ca-certificates.crt"))
		}
	}
	if !slices.ContainsFunc(argv, func(a string) bool { return strings.HasPrefix(a, "--kubeconfig=") }) {
		file := filepath.Join(directory, "kubeconfig")
		err = os.WriteFile(file, []byte(kubeconfig(f)), 0o600)
		argv = append(argv, "--kubeconfig="+file)
	}
	return argv, env, err
}
