// Locks by the real square/mongo-lock, for the tests beside doclock.
//
//	mongolock serve URI DATABASE
//	    reads calls of the library, one a line, and answers each with a line
//	mongolock peer URI DATABASE NAME 1 TTL-MS HOLD-MS REST-MS mongolock SHARES
//	    takes and releases a lock until it is killed, exclusively (SHARES 0) or as one of so many,
//	    and tells the history that tests/mongodb/layouts/history.h reads
//
// The collection is "locks". One argument goes before all these, and is not looked at.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	lock "github.com/square/mongo-lock"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
)

var ctx = context.Background()

// call is a line that serve reads.
type call struct {
	Do, Name, Id string
	Ttl          uint
	Max          int
	lock.LockDetails
}

func serve(client *lock.Client) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var c call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			fmt.Println("error", err)
			continue
		}
		c.LockDetails.TTL = c.Ttl
		var locks []lock.LockStatus
		var err error
		switch c.Do {
		case "indexes":
			err = client.CreateIndexes(ctx)
		case "xlock":
			err = client.XLock(ctx, c.Name, c.Id, c.LockDetails)
		case "slock":
			err = client.SLock(ctx, c.Name, c.Id, c.LockDetails, c.Max)
		case "renew":
			locks, err = client.Renew(ctx, c.Id, c.Ttl)
		case "unlock":
			locks, err = client.Unlock(ctx, c.Id)
		case "purge":
			locks, err = lock.NewPurger(client).Purge(ctx)
		case "status":
			locks, err = client.Status(ctx, lock.Filter{Resource: c.Name})
		}
		switch {
		case errors.Is(err, lock.ErrAlreadyLocked):
			fmt.Println("locked")
		case errors.Is(err, lock.ErrLockNotFound):
			fmt.Println("none")
		case err != nil:
			fmt.Println("error", err)
		default:
			fmt.Print("done ", len(locks))
			for _, l := range locks {
				fmt.Printf(" %s/%s/%s/%s", l.Type, l.LockId, l.Owner, l.Host)
			}
			fmt.Println()
		}
	}
}

// clock is the one that all processes of the machine share.
func clock() int64 {
	var now syscall.Timespec
	const monotonic = 1
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func attempt(client *lock.Client, name, id string, details lock.LockDetails, shares int) error {
	if shares == 0 {
		return client.XLock(ctx, name, id, details)
	}
	return client.SLock(ctx, name, id, details, shares)
}

func contend(client *lock.Client, name string, shares int, ttl uint, hold, rest time.Duration) {
	details := lock.LockDetails{Owner: "peer", TTL: ttl}
	for {
		id := primitive.NewObjectID().Hex()
		started := time.Now()
		for {
			sent := clock()
			err := attempt(client, name, id, details, shares)
			if err == nil {
				fmt.Println("got", sent, clock(), 0, time.Since(started).Milliseconds())
				break
			}
			if !errors.Is(err, lock.ErrAlreadyLocked) {
				id = primitive.NewObjectID().Hex() // the old one may have been granted
			}
			time.Sleep(time.Duration(10+rand.Intn(90)) * time.Millisecond)
		}
		time.Sleep(hold)
		fmt.Println("releasing", clock())
		client.Unlock(ctx, id)
		time.Sleep(rest)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func main() {
	args := os.Args[2:]
	connection, err := mongo.Connect(ctx, options.Client().ApplyURI(args[1]))
	if err != nil {
		panic("no connection")
	}
	client := lock.NewClient(connection.Database(args[2]).Collection("locks"))
	if args[0] == "serve" {
		serve(client)
		return
	}
	ms := func(i int) time.Duration { return time.Duration(number(args[i])) * time.Millisecond }
	contend(client, args[3], number(args[9]), uint(ms(5)/time.Second), ms(6), ms(7))
}
