import { expect } from 'chai'
import { ambiguityOf } from './framing.ts'

describe('ambiguityOf', () => {
  const cases: [sentence: string, httpVersion: string, rawHeaders: string[], refusal: RegExp | undefined][] = [
    ['one host', '1.1', ['Host', 'a'], undefined],
    ['no host in HTTP/1.0', '1.0', [], undefined],
    ['a chunked body', '1.1', ['Host', 'a', 'Transfer-Encoding', 'Chunked'], undefined],
    ['a header with the value "host"', '1.1', ['X', 'host', 'Host', 'a'], undefined],
    ['no host in HTTP/1.1', '1.1', ['X', 'host'], /no Host header/],
    ['two hosts', '1.1', ['Host', 'a', 'hOST', 'b'], /more than one Host/],
    [
      'two transfer codings',
      '1.1',
      ['Host', 'a', 'Transfer-Encoding', 'gzip, chunked'],
      /only supported transfer coding/,
    ],
    [
      'two Transfer-Encoding headers',
      '1.1',
      ['Host', 'a', 'Transfer-Encoding', 'chunked', 'transfer-encoding', 'chunked'],
      /coding/,
    ],
    ['HTTP/2.0 in the request line', '2.0', ['Host', 'a'], /HTTP\/2\.0 is not supported/],
  ]
  for (const [sentence, httpVersion, rawHeaders, refusal] of cases) {
    it(`${refusal === undefined ? 'accepts' : 'rejects'} ${sentence}`, () => {
      const found = ambiguityOf({ httpVersion, rawHeaders })
      if (refusal === undefined) expect(found).to.equal(undefined)
      else expect(found).to.match(refusal)
    })
  }
})
