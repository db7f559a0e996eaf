package holdfast

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// checkTexts returns the error of texts that no message can have. Such a text would
// break every session that sends it, and so end the renewals of all leases.
func checkTexts(field string, texts ...string) *Error {
	size := 0
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return invalidOption(field, fmt.Sprintf("must be UTF-8, not %.40q", text))
		}
		size += len(text)
	}
	if size > maxTextBytes {
		return invalidOption(field, fmt.Sprintf("is %d bytes; a message has at most %d", size, maxTextBytes))
	}
	return nil
}

func checkMetadata(metadata map[string]string) *Error {
	texts := make([]string, 0, 2*len(metadata))
	for key, value := range metadata {
		texts = append(texts, key, value)
	}
	return checkTexts("metadata", texts...)
}

// checkCount returns the error of a number that no message can have. It would arrive as
// another number.
func checkCount(field string, n *int) *Error {
	if n != nil && (*n < math.MinInt32 || *n > math.MaxInt32) {
		return invalidOption(field, fmt.Sprintf("must be at most %d, not %d", math.MaxInt32, *n))
	}
	return nil
}

// nearestInt32 returns the nearest number that a message can have. The server refuses
// a number beyond its bound.
func nearestInt32(n int) int32 {
	return int32(max(math.MinInt32, min(n, math.MaxInt32)))
}
