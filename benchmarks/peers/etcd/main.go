// The worker for etcd's concurrency.Mutex. It plays the scenarios of ../worker.h with the same
// arguments and the same output. The URL is a list of endpoints, separated by commas.
//
// Each caller has a session, and so a lease, of its own: a Mutex belongs to its session.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

const (
	work   = 20 * time.Microsecond
	keys   = 1024
	leases = 1000
)

// slot is a document's place in the page, laid out as in worker.cpp. The document's lock alone
// protects count.
type slot struct {
	count      uint64
	releasedNs int64
	holder     int32
	_          [44]byte
}

type caller struct {
	session    *concurrency.Session
	held       map[int]*concurrency.Mutex
	cycles     int64
	counted    int64
	lost       int64
	took       []int64
	unfinished []int64
}

// lock returns false if ctx ended the wait.
func (c *caller) lock(ctx context.Context, key int) bool {
	mutex := concurrency.NewMutex(c.session, "/lock/"+strconv.Itoa(key))
	err := mutex.Lock(ctx)
	if err != nil && ctx.Err() != nil {
		return false
	}
	check(err)
	c.held[key] = mutex
	return true
}

func (c *caller) unlock(key int) {
	check(c.held[key].Unlock(context.Background()))
	delete(c.held, key)
}

type round struct {
	scenario string
	first    int
	time     time.Duration
	ttl      time.Duration
	page     *[keys]slot
	callers  []*caller
	// measuredFrom is when the measured part of the round begins.
	measuredFrom time.Time
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer_etcd:", err)
		os.Exit(1)
	}
}

func say(line any) { check(json.NewEncoder(os.Stdout).Encode(line)) }

// monotonicNs is the clock that the other workers read too.
func monotonicNs() int64 {
	var now syscall.Timespec
	const clockMonotonic = 1
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// each runs f for each caller at once, until all of them return.
func (r *round) each(f func(i int, c *caller)) {
	var all sync.WaitGroup
	for i, c := range r.callers {
		all.Add(1)
		go func(i int, c *caller) { defer all.Done(); f(i, c) }(i, c)
	}
	all.Wait()
}

func (r *round) begin() {
	say(map[string]bool{"ready": true})
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		os.Exit(1)
	}
}

func (r *round) warmUp() {
	r.each(func(i int, c *caller) {
		c.lock(context.Background(), r.first+i)
		c.unlock(r.first + i)
	})
}

func (r *round) cycle(ctx context.Context, c *caller, key int, hot bool) {
	start := time.Now()
	if !c.lock(ctx, key) {
		c.unfinished = append(c.unfinished, time.Since(start).Microseconds())
		return
	}
	before := r.page[key].count
	for begun := time.Now(); hot && time.Since(begun) < work; {
	}
	r.page[key].count = before + 1
	c.unlock(key)
	c.cycles++
	if time.Now().Before(r.measuredFrom) {
		return
	}
	if took := time.Since(start).Microseconds(); ctx.Err() == nil {
		c.counted++
		c.took = append(c.took, took)
	} else {
		c.unfinished = append(c.unfinished, took)
	}
}

func (r *round) playCycles() {
	r.warmUp()
	r.begin()
	ctx, end := context.WithTimeout(context.Background(), r.time)
	defer end()
	hot := r.scenario == "hot"
	lead := time.Duration(0)
	if hot {
		lead = r.time / 4
	}
	r.measuredFrom = time.Now().Add(lead)
	r.each(func(i int, c *caller) {
		key := r.first + i
		if hot {
			key = 0
		}
		for ctx.Err() == nil {
			r.cycle(ctx, c, key, hot)
		}
	})
	r.report(map[string]any{"seconds": (r.time - lead).Seconds()})
}

func (r *round) playTurns() {
	r.warmUp()
	r.begin()
	ctx, end := context.WithTimeout(context.Background(), r.time)
	defer end()
	c, me, slot := r.callers[0], int32(r.first), &r.page[0]
	for ctx.Err() == nil {
		if !c.lock(ctx, 0) {
			break
		}
		now := monotonicNs()
		if last := atomic.SwapInt32(&slot.holder, me); last != 0 && last != me {
			c.took = append(c.took, (now-atomic.LoadInt64(&slot.releasedNs))/1000)
		}
		before := slot.count
		time.Sleep(time.Duration(100+rand.Intn(60)) * time.Millisecond)
		slot.count = before + 1
		atomic.StoreInt64(&slot.releasedNs, monotonicNs())
		c.unlock(0)
		c.cycles++
		for ctx.Err() == nil && atomic.LoadInt32(&slot.holder) == me {
			time.Sleep(time.Millisecond)
		}
	}
	r.report(map[string]any{})
}

func (r *round) playLeases() {
	r.warmUp()
	r.begin()
	start := time.Now()
	r.each(func(i int, c *caller) {
		for key := i; key < leases; key += len(r.callers) {
			c.lock(context.Background(), key)
		}
	})
	took := time.Since(start).Seconds()
	say(map[string]bool{"held": true})
	cpu := cpuSeconds()
	time.Sleep(r.time)
	cpu = cpuSeconds() - cpu
	say(map[string]bool{"kept": true})
	start = time.Now()
	r.each(func(i int, c *caller) {
		for key := i; key < leases; key += len(r.callers) {
			select {
			case <-c.session.Done():
				c.lost++
			default:
			}
			r.page[key].count++
			c.unlock(key)
			c.cycles++
		}
	})
	r.report(map[string]any{"take_s": took, "release_s": time.Since(start).Seconds(), "cpu_s": cpu})
}

func (r *round) playHold() {
	r.begin()
	r.each(func(i int, c *caller) { c.lock(context.Background(), r.first+i) })
	say(map[string]bool{"held": true})
	select {}
}

func (r *round) playTake() {
	r.begin()
	at := make([]int64, len(r.callers))
	r.each(func(i int, c *caller) {
		c.lock(context.Background(), r.first+i)
		at[i] = monotonicNs()
		c.unlock(r.first + i)
	})
	say(map[string]any{"at_ns": at})
}

func (r *round) report(result map[string]any) {
	cycles, counted, took, unfinished, lost := []int64{}, []int64{}, []int64{}, []int64{}, int64(0)
	for _, c := range r.callers {
		cycles = append(cycles, c.cycles)
		counted = append(counted, c.counted)
		took = append(took, c.took...)
		unfinished = append(unfinished, c.unfinished...)
		lost += c.lost
	}
	result["cycles"], result["took_us"], result["unfinished_us"] = cycles, took, unfinished
	result["counted"], result["lost"] = counted, lost
	say(result)
}

func mapPage(path string) *[keys]slot {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	check(err)
	defer file.Close()
	size := int(unsafe.Sizeof([keys]slot{}))
	check(file.Truncate(int64(size)))
	page, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	check(err)
	return (*[keys]slot)(unsafe.Pointer(&page[0]))
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func main() {
	if len(os.Args) != 9 {
		check(fmt.Errorf("wants the eight arguments that worker.h explains"))
	}
	if os.Args[4] == "prepare" {
		return
	}
	seconds, err := strconv.ParseFloat(os.Args[7], 64)
	check(err)
	r := &round{
		scenario: os.Args[4],
		first:    number(os.Args[5]),
		time:     time.Duration(seconds * float64(time.Second)),
		ttl:      time.Duration(number(os.Args[8])) * time.Millisecond,
		page:     mapPage(os.Args[3]),
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(os.Args[2], ","), DialTimeout: 10 * time.Second})
	check(err)
	for i := 0; i < number(os.Args[6]); i++ {
		session, err := concurrency.NewSession(client, concurrency.WithTTL(int(r.ttl/time.Second)))
		check(err)
		r.callers = append(r.callers, &caller{session: session, held: map[int]*concurrency.Mutex{}})
	}
	switch r.scenario {
	case "own", "hot":
		r.playCycles()
	case "turns":
		r.playTurns()
	case "leases":
		r.playLeases()
	case "hold":
		r.playHold()
	case "take":
		r.playTake()
	default:
		check(fmt.Errorf("unknown scenario %s", r.scenario))
	}
	r.each(func(_ int, c *caller) { c.session.Close() })
}
