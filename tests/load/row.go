package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// Row has the cost of one phase at one size. All except SimulatorCPU is that of the controller.
type Row struct {
	Case     string `json:"case"`
	Services int    `json:"services"`
	Ports    int    `json:"ports"`
	Nodes    int    `json:"nodes"`
	// MaxMembers is the setting max-members, 0 without it.
	MaxMembers int `json:"max_members"`
	// Members is the sum over all pools.
	Members int `json:"members"`
	// Repetition counts from 1 if the phases are repeated, otherwise it is 0.
	Repetition int `json:"repetition,omitempty"`

	// PeakRSS is the maximum resident memory during the phase, RSS that at its end, Heap the live
	// heap there after a garbage collection.
	PeakRSS    float64 `json:"peak_rss_mib"`
	RSS        float64 `json:"rss_mib"`
	Heap       float64 `json:"heap_mib"`
	Goroutines int     `json:"goroutines"`
	CPU        float64 `json:"cpu_s"`

	// Requests and Writes were sent to the cloud; Bytes are those of the answers. Cycles is the
	// number of times that load balancers became PENDING.
	Requests  int     `json:"requests"`
	Writes    int     `json:"writes"`
	Cycles    int     `json:"cycles"`
	Bytes     float64 `json:"bytes_mib"`
	SentBytes float64 `json:"sent_mib"`

	// KubeWrites counts writes to the API server except events and leases; KubeObjects has both by
	// resource.
	KubeWrites  int            `json:"kube_writes"`
	KubeEvents  int            `json:"kube_events"`
	KubeObjects map[string]int `json:"kube_objects,omitempty"`

	// Seconds is the time until all load balancers have their desired state, by the cloud's own
	// time if that ends the phase; CloudSeconds is the cloud's own limit. LastAddress is when the
	// last Service had an address, 0 if none got one.
	Seconds      float64 `json:"seconds"`
	CloudSeconds float64 `json:"cloud_seconds"`
	LastAddress  float64 `json:"last_address_s"`

	// The conditions of the measurement. Busy is the part of the machine's processors that all
	// processes used during the phase.
	Commit       string   `json:"commit"`
	Controller   string   `json:"controller,omitempty"`
	Speed        float64  `json:"speed"`
	Settings     []string `json:"settings,omitempty"`
	SimulatorCPU float64  `json:"simulator_cpu_s"`
	Busy         float64  `json:"machine_busy"`
	Replaced     int      `json:"replaced,omitempty"`
	Error        string   `json:"error,omitempty"`
}

// mib is for figures of bytes.
const mib = 1 << 20

// rounded has two decimals, which is more than the precision.
func rounded(figure float64) float64 { return math.Round(figure*100) / 100 }

// key identifies a row that replaces another one.
func (r Row) key() string {
	return fmt.Sprint(r.Controller, " ", r.Case, " ", r.Services, " ", r.Ports, " ", r.Nodes, " ", r.MaxMembers, " ", r.Speed, " ", r.Repetition)
}

// keep writes rows to a file, and replaces rows with the same key.
func keep(file string, rows []Row) error {
	var all []Row
	text, err := os.ReadFile(file)
	switch {
	case err == nil:
		if err := json.Unmarshal(text, &all); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("read %s: %w", file, err)
	}
	return writeJSON(file, merge(all, rows))
}

// merge replaces old rows with the same key by new ones, and appends the others.
func merge(old, added []Row) []Row {
	all := slices.Clone(old)
	for _, row := range added {
		at := slices.IndexFunc(all, func(r Row) bool { return r.key() == row.key() })
		if at < 0 {
			all = append(all, row)
		} else {
			all[at] = row
		}
	}
	return all
}

// writeJSON replaces a file atomically, so that it is complete after any interruption.
func writeJSON(file string, content any) error {
	text, err := json.MarshalIndent(content, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", file, err)
	}
	unfinished := file + ".new"
	if err := os.WriteFile(unfinished, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return os.Rename(unfinished, file)
}
