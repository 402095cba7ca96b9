package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
)

// auditPolicy makes the API server log the writes of service accounts. The only one is that of the
// controller, because the control plane has no pods and no controller manager. Leases and reviews
// of tokens are not its work.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: None
  resources: [{group: coordination.k8s.io}, {group: authentication.k8s.io}, {group: authorization.k8s.io}]
- level: Metadata
  userGroups: ["system:serviceaccounts"]
  verbs: [create, update, patch, delete, deletecollection]
- level: None
`

// maxLogMB is far more than any size of cluster writes, in megabytes.
const maxLogMB = "1000000"

// audit counts the controller's writes to Kubernetes, from the API server's audit log.
type audit struct {
	log    string
	offset int64
	// counts has the writes since reset, by resource.
	counts map[string]int
}

// newAudit writes the policy, and returns the API server's flags.
func newAudit(directory string) (*audit, []string, error) {
	policy := filepath.Join(directory, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, nil, fmt.Errorf("write the audit policy: %w", err)
	}
	a := &audit{log: filepath.Join(directory, "audit.log"), counts: map[string]int{}}
	// A rotated log could not be read completely; the default limit is 100 MB, and five thousand
	// Services write more.
	return a, []string{"--audit-policy-file=" + policy, "--audit-log-path=" + a.log, "--audit-log-maxsize=" + maxLogMB}, nil
}

// reset sets the counts to zero.
func (a *audit) reset() error {
	err := a.read()
	clear(a.counts)
	return err
}

// read counts the entries since the last call.
func (a *audit) read() error {
	file, err := os.Open(a.log)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the last line is incomplete
			return nil
		}
		a.offset += int64(len(line))
		if resource := auditedResource(line); resource != "" {
			a.counts[resource]++
		}
	}
}

// auditedResource returns the written resource of an entry, with its subresource.
func auditedResource(line []byte) string {
	var entry struct {
		ObjectRef struct{ Resource, Subresource string }
	}
	if json.Unmarshal(bytes.TrimSpace(line), &entry) != nil {
		return ""
	}
	if entry.ObjectRef.Subresource != "" {
		return entry.ObjectRef.Resource + "/" + entry.ObjectRef.Subresource
	}
	return entry.ObjectRef.Resource
}

// events returns the number of created and updated events.
func (a *audit) events() int { return a.counts["events"] }

// writes returns the number of all other writes.
func (a *audit) writes() int {
	total := 0
	for _, count := range a.counts {
		total += count
	}
	return total - a.events()
}

// copy returns all counts.
func (a *audit) copy() map[string]int { return maps.Clone(a.counts) }
