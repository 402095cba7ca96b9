package cluster

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
)

// audit is the API server's own account of the writes of the cloud controller manager.
type audit struct {
	t    *testing.T
	file string
	// read is how many lines were counted before.
	read int
}

const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users: ["system:serviceaccount:kube-system:cloud-controller-manager", "system:serviceaccount:kube-system:openstack-cloud-controller-manager-dry-run"]
  verbs: [create, update, patch, delete]
`

// newAudit returns an audit, and adds to the flags of the API server what it needs.
func newAudit(t *testing.T, plane *controlplane.Options) *audit {
	t.Helper()
	directory := t.TempDir()
	a, policy := &audit{t: t, file: filepath.Join(directory, "audit.log")}, filepath.Join(directory, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	plane.APIServerArgs = append(plane.APIServerArgs, "--audit-policy-file="+policy, "--audit-log-path="+a.file, "--audit-log-mode=blocking-strict")
	return a
}

// writes returns the number of writes since the last call by verb and resource, without those of
// the leader election and without reviews of tokens, which change nothing.
func (a *audit) writes() map[string]int {
	a.t.Helper()
	return a.writesOf("system:serviceaccount:kube-system:cloud-controller-manager")
}

// writesOf counts those of one user.
func (a *audit) writesOf(user string) map[string]int {
	a.t.Helper()
	file, err := os.Open(a.file)
	if err != nil {
		a.t.Fatal(err)
	}
	defer file.Close()
	counts, line := map[string]int{}, 0
	for lines := bufio.NewScanner(file); lines.Scan(); line++ {
		if line < a.read {
			continue
		}
		var event struct {
			Verb string `json:"verb"`
			User struct {
				Username string `json:"username"`
			} `json:"user"`
			ObjectRef struct {
				Resource    string `json:"resource"`
				Subresource string `json:"subresource"`
			} `json:"objectRef"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			a.t.Fatal(err)
		}
		resource := event.ObjectRef.Resource
		if event.User.Username != user {
			continue
		}
		switch resource {
		case "leases", "tokenreviews", "subjectaccessreviews":
			continue
		}
		if sub := event.ObjectRef.Subresource; sub != "" {
			resource += "/" + sub
		}
		counts[event.Verb+" "+resource]++
	}
	a.read = line
	return counts
}
