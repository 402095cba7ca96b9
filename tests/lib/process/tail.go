package process

import (
	"errors"
	"io"
	"os"
	"strings"
)

// tailBytes bounds how much of a log is read for its last lines.
const tailBytes = 256 << 10

// Tail returns the last lines of a file, at most that many; nothing for a file
// that does not exist, and the reason for one that cannot be read.
func Tail(path string, lines int) string {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	defer file.Close()

	if size, err := file.Seek(0, io.SeekEnd); err == nil {
		if _, err := file.Seek(max(0, size-tailBytes), io.SeekStart); err != nil {
			return err.Error()
		}
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
