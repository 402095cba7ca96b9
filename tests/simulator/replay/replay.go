package replay

import (
	"fmt"
	"io"
	"path/filepath"
)

// Result of a replay.
type Result struct {
	// Passed and Failed count requests. Those that an exception leaves out
	// altogether count as neither.
	Passed, Failed int
	// Excepted counts what the exceptions concern.
	Excepted   int
	Mismatches []Mismatch
}

// Mismatch is a request that was answered otherwise than recorded, or an event
// that could not be repeated.
type Mismatch struct {
	File string
	Line int
	What string
}

func (m Mismatch) String() string { return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.What) }

// Files replays recordings against simulators of a release. Each sequence gets
// a fresh one; exchanges in the same directory follow one another on the same,
// in the order given, as they were recorded.
func Files(release string, files ...string) (Result, error) {
	var result Result
	exchanges := map[string]*machine{}
	for _, file := range files {
		recording, err := Read(file)
		if err != nil {
			return result, err
		}
		var player *machine
		if recording.Exchange {
			directory := filepath.Dir(file)
			if exchanges[directory] == nil {
				exchanges[directory], err = newSite(release, alongside(file, files))
			}
			player = exchanges[directory]
		} else {
			player, err = newBench(release, recording)
		}
		if err != nil {
			return result, err
		}
		player.play(recording, &result)
		if !recording.Exchange {
			player.octavia.Close()
		}
	}
	for _, player := range exchanges {
		player.octavia.Close()
	}
	return result, nil
}

// alongside are the exchanges in the directory of a file.
func alongside(file string, files []string) []string {
	var same []string
	for _, other := range files {
		if filepath.Ext(other) == ".json" && filepath.Dir(other) == filepath.Dir(file) {
			same = append(same, other)
		}
	}
	return same
}

// Print writes every mismatch and the summary.
func (r Result) Print(to io.Writer) error {
	for _, mismatch := range r.Mismatches {
		if _, err := fmt.Fprintln(to, mismatch); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(to, "replay: %d passed, %d failed\n", r.Passed, r.Failed)
	return err
}

func (m *machine) play(recording Recording, result *Result) {
	if m.site != nil {
		if err := m.site.begin(m, recording); err != nil {
			result.Failed++
			result.Mismatches = append(result.Mismatches, Mismatch{recording.File, 0, "set up: " + err.Error()})
		}
	}
	for i, step := range recording.Steps {
		what, checked := m.step(recording, step, recording.Steps[i+1:])
		exception, is := excepted(recording, step)
		if is {
			result.Excepted++
		}
		switch {
		case is && !exception.StatusOnly:
		case what != "":
			result.Failed++
			result.Mismatches = append(result.Mismatches, Mismatch{recording.File, step.Line, what})
		case checked:
			result.Passed++
		}
	}
}
