package replay

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
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
// a fresh one. Exchanges in the same directory follow one another on the same, by
// name: those before a file that was asked for are played too, and not counted.
func Files(release string, files ...string) (Result, error) {
	var result Result
	directories := map[string][]string{}
	for _, file := range files {
		recording, err := Read(file)
		if err != nil {
			return result, err
		}
		if recording.Exchange {
			file = filepath.Clean(file)
			directories[filepath.Dir(file)] = append(directories[filepath.Dir(file)], file)
			continue
		}
		player, err := newBench(release, recording)
		if err != nil {
			return result, err
		}
		player.play(recording, &result)
		player.octavia.Close()
	}
	for _, directory := range slices.Sorted(maps.Keys(directories)) {
		if err := exchanges(release, directory, directories[directory], &result); err != nil {
			return result, err
		}
	}
	return result, nil
}

// exchanges replays those of one directory.
func exchanges(release, directory string, asked []string, result *Result) error {
	recordings, err := alongside(directory, asked)
	if err != nil {
		return err
	}
	player, err := newSite(release, recordings)
	if err != nil {
		return err
	}
	defer player.octavia.Close()
	last := slices.Max(asked)
	for _, recording := range recordings {
		switch {
		case slices.Contains(asked, recording.File):
			player.play(recording, result)
		case recording.File < last:
			player.play(recording, &Result{})
		}
	}
	return nil
}

// alongside reads the exchanges of a directory. What is none, and was not asked
// for, does not count.
func alongside(directory string, asked []string) ([]Recording, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list the recordings in %s: %w", directory, err)
	}
	files = append(files, asked...)
	slices.Sort(files)
	var recordings []Recording
	for _, file := range slices.Compact(files) {
		recording, err := Read(file)
		switch {
		case err == nil:
			recordings = append(recordings, recording)
		case slices.Contains(asked, file):
			return nil, err
		}
	}
	return recordings, nil
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
