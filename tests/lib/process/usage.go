package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process takes of the machine.
type Usage struct {
	// RSS is its resident memory, PeakRSS the most that it was since the start of the
	// process, or since ResetPeak, both in bytes.
	RSS, PeakRSS int64
	// CPU is the time of its threads so far, in user and in system mode.
	CPU time.Duration
}

// clockTick is the unit of time in /proc/PID/stat: Linux shows programs 100 of them a
// second, whatever the kernel counts with.
const clockTick = time.Second / 100

// UsageOf returns what the process with this number takes. It reads Linux' /proc; on other
// systems it returns an error.
func UsageOf(pid int) (Usage, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	return parseUsage(string(status), string(stat)), nil
}

// parseUsage reads the two files, which proc_pid_status(5) and proc_pid_stat(5) describe.
func parseUsage(status, stat string) Usage {
	kib := func(name string) int64 {
		_, after, _ := strings.Cut(status, "\n"+name+":")
		fields := strings.Fields(after)
		if len(fields) == 0 {
			return 0
		}
		value, _ := strconv.ParseInt(fields[0], 10, 64) // 0 where the system does not tell
		return value << 10
	}
	// The name of the program, in parentheses, may hold anything.
	_, after, _ := strings.Cut(stat[strings.LastIndexByte(stat, ')')+1:], " ")
	fields := strings.Fields(after)
	var ticks int64
	const user, system = 11, 12 // from the state on, which is the first field here
	for _, field := range []int{user, system} {
		if field < len(fields) {
			value, _ := strconv.ParseInt(fields[field], 10, 64)
			ticks += value
		}
	}
	return Usage{RSS: kib("VmRSS"), PeakRSS: kib("VmHWM"), CPU: time.Duration(ticks) * clockTick}
}

// ResetPeak lets PeakRSS of a process begin anew with what it has now.
func ResetPeak(pid int) error {
	const peak = "5"
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte(peak), 0); err != nil {
		return fmt.Errorf("reset the peak memory of process %d: %w", pid, err)
	}
	return nil
}
