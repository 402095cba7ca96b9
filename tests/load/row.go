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

// Row is what one phase took at one size. All but SimulatorCPU is the controller's.
type Row struct {
	Case     string `json:"case"`
	Services int    `json:"services"`
	Ports    int    `json:"ports"`
	Nodes    int    `json:"nodes"`
	// MaxMembers is the setting max-members, 0 without it.
	MaxMembers int `json:"max_members"`
	// Members are those of all pools.
	Members int `json:"members"`
	// Repetition counts from 1 where the phases are repeated, and is 0 else.
	Repetition int `json:"repetition,omitempty"`

	// PeakRSS is the most resident memory during the phase, RSS what was left at its end,
	// Heap what was in use there after a garbage collection.
	PeakRSS    float64 `json:"peak_rss_mib"`
	RSS        float64 `json:"rss_mib"`
	Heap       float64 `json:"heap_mib"`
	Goroutines int     `json:"goroutines"`
	CPU        float64 `json:"cpu_s"`

	// Requests, Writes and Bytes are what the cloud was asked; Bytes those of the answers.
	// Cycles is how often load balancers became PENDING.
	Requests  int     `json:"requests"`
	Writes    int     `json:"writes"`
	Cycles    int     `json:"cycles"`
	Bytes     float64 `json:"bytes_mib"`
	SentBytes float64 `json:"sent_mib"`

	// KubeWrites are those to the API server beside events and leases; KubeObjects has
	// both by resource.
	KubeWrites  int            `json:"kube_writes"`
	KubeEvents  int            `json:"kube_events"`
	KubeObjects map[string]int `json:"kube_objects,omitempty"`

	// Seconds pass until all load balancers are as they should be, by the cloud's own time
	// where that ends the phase; CloudSeconds of them are the cloud's own limit. LastAddress
	// is when the last Service had an address, 0 where none got one.
	Seconds      float64 `json:"seconds"`
	CloudSeconds float64 `json:"cloud_seconds"`
	LastAddress  float64 `json:"last_address_s"`

	// What the figures were measured with. Busy is the part of the machine's processors
	// that was used during the phase, by whomever.
	Commit       string   `json:"commit"`
	Speed        float64  `json:"speed"`
	Settings     []string `json:"settings,omitempty"`
	SimulatorCPU float64  `json:"simulator_cpu_s"`
	Busy         float64  `json:"machine_busy"`
	Replaced     int      `json:"replaced,omitempty"`
	Error        string   `json:"error,omitempty"`
}

// mib is for figures of bytes.
const mib = 1 << 20

// rounded has two decimals, which is more than is certain.
func rounded(figure float64) float64 { return math.Round(figure*100) / 100 }

// key tells what a row replaces.
func (r Row) key() string {
	return fmt.Sprint(r.Case, " ", r.Services, " ", r.Ports, " ", r.Nodes, " ", r.MaxMembers, " ", r.Speed, " ", r.Repetition)
}

// keep writes rows to a file, in place of the same ones that are there.
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

// merge puts new rows in the place of old ones, or at the end.
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

// writeJSON replaces a file at once, so that whoever stops the program has the old one or
// the new one.
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
