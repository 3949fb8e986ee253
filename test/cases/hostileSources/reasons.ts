import { expect } from 'chai'

/** One or two plain sentences, without output of the program that failed. */
export function expectClear(message: string): void {
  expect(message).to.match(/^["A-Za-z][^\p{Cc}\p{Cf}]{10,600}\.$/u)
  expect(message).to.not.match(/Error:|\bE[A-Z]{4,}\b| at .*:\d+|node:|fatal|errno|tar-stream|zlib|undefined|\[object/)
}
