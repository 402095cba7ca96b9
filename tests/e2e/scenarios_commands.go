package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// commands looks at a Service, before there is one, while it is served and before it changes,
// with the commands that change nothing.
func commands(s *scene) {
	tcp := func(ports ...int32) func(*corev1.Service) {
		return func(svc *corev1.Service) {
			svc.Spec.Ports = nil
			for _, number := range ports {
				svc.Spec.Ports = append(svc.Spec.Ports, port(corev1.ProtocolTCP, number))
			}
		}
	}
	s.prints(2, []string{"will be created", "floating IP: create"}, "plan", "--filename="+s.manifest("web", tcp(8080)))
	web := s.create("web", tcp(8080), "node-1", "node-2", "node-3")
	address := web.address()
	web.has(map[string]int{"TCP/8080": 3})
	s.prints(0, []string{"no change"}, "plan", "web", "--namespace="+s.namespace)
	s.prints(0, append([]string{address, "TCP/8080", web.loadBalancer().ID}, nodeNames()...), "status", "web", "--namespace="+s.namespace)

	s.prints(2, []string{"listener TCP/9090: create", address + " stays"}, "plan", "--filename="+s.manifest("web", tcp(8080, 9090)))
	web.change(tcp(8080, 9090))
	web.has(map[string]int{"TCP/8080": 3, "TCP/9090": 3})
	s.prints(0, []string{"no change"}, "plan", "web", "--namespace="+s.namespace)
	s.prints(2, []string{"-node-3="}, "plan", "web", "--namespace="+s.namespace, "--without-nodes=node-3")
	s.prints(4, []string{web.loadBalancer().ID, "the cluster still runs"}, "cleanup", "--cluster-name=kubernetes")
	s.prints(3, []string{web.loadBalancer().ID}, "cleanup", "--cluster-name=kubernetes", "--force")
	web.has(map[string]int{"TCP/8080": 3, "TCP/9090": 3}) // it is only listed
	s.checks()
	web.remove()
	s.nothingLeft()
}

// manifest writes one of a Service, as its author has it, and returns its path.
func (s *scene) manifest(name string, change func(*corev1.Service)) (path string) {
	s.Helper()
	svc := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	change(svc)
	text, err := json.Marshal(svc)
	s.must(err)
	path = filepath.Join(s.TempDir(), "service.json")
	s.must(os.WriteFile(path, text, 0o600))
	return path
}

// prints waits until a command ends with an exit code, and prints all of some texts.
func (s *scene) prints(code int, texts []string, command string, args ...string) {
	s.Helper()
	s.eventually(command+" "+strings.Join(args, " "), func(ctx context.Context) error {
		output, have, err := s.Command(ctx, command, args...)
		if err != nil {
			return err
		}
		if have != code {
			return fmt.Errorf("exit code %d, want %d:\n%s", have, code, output)
		}
		for _, text := range texts {
			if !strings.Contains(output, text) {
				return fmt.Errorf("no %q in\n%s", text, output)
			}
		}
		return nil
	})
}

// checks looks at cloud.conf: the controller runs with it, so that it can have no error.
func (s *scene) checks() {
	s.Helper()
	output, code, err := s.Command(s.Context(), "check")
	s.must(err)
	if code == 1 {
		s.Errorf("check reports that the controller, which runs, cannot run:\n%s", output)
	}
}
