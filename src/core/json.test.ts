import { expect } from 'chai'
import { PlatformError } from './errors.ts'
import { parseStrictJson, unwrapStrictJson } from './json.ts'

const parseJson = (given: Uint8Array) => unwrapStrictJson(parseStrictJson(given))

const bytes = (text: string) => Buffer.from(text, 'utf8')

describe('parseStrictJson', () => {
  const refused: [string, Buffer][] = [
    ['a truncated object', bytes('{"a":')],
    ['only spaces', bytes('  ')],
    ['single quotes', bytes("{'a':1}")],
    ['a trailing comma', bytes('{"a":1,}')],
    ['a comment', bytes('{"a":1/* */}')],
    ['NaN', bytes('{"a":NaN}')],
    ['two documents', bytes('{}{}')],
    ['a duplicate name', bytes('{"a":1,"a":2}')],
    ['a duplicate name with an escape', bytes('{"a":1,"\\u0061":2}')],
    ['a duplicate nested name', bytes('{"x":[{"a":1,"b":{},"a":2}]}')],
    ['a byte order mark', bytes('\ufeff{}')],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['an encoded surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['an unpaired surrogate in a value', bytes('{"a":"\\ud800"}')],
    ['an unpaired surrogate in a name', bytes('{"\\udc00":1}')],
    ['__proto__', bytes('{"__proto__":{"polluted":true}}')],
    ['__proto__ with an escape', bytes('{"\\u005f_proto__":{}}')],
    ['a nested __proto__', bytes('{"tags":{"__proto__":{}}}')],
    ['65 levels', bytes(`${'['.repeat(65)}${']'.repeat(65)}`)],
    ['100,000 levels', bytes(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)],
    ['a control character in a string', bytes('{"a":"\n"}')],
    ['a number that underflows', bytes('{"a":1e-400}')],
    ['a negative number that underflows', bytes('[-0.5E-400]')],
    ['a number with 400 zeros after the point', bytes(`[0.${'0'.repeat(400)}1]`)],
    ['a number that overflows', bytes('{"a":1e400}')],
    ['2,001 names', bytes(`{${Array.from({ length: 2_001 }, (_, index) => `"k${index}":1`).join()}}`)],
    ['a number with 400 digits', bytes(`[${'9'.repeat(400)}]`)],
  ]
  for (const [sentence, body] of refused) {
    it(`rejects ${sentence}`, () => {
      expect(() => parseJson(body))
        .to.throw(PlatformError)
        .with.property('code', 'MODEL_BINDING_FAILED')
    })
  }

  const accepted: [string, string][] = [
    ['an object', '{"a":1}'],
    ['null', 'null'],
    ['64 levels', `${'['.repeat(64)}${']'.repeat(64)}`],
    ['one name in several objects', '[{"a":1},{"a":2},{"b":{"a":1},"a":{"b":1}}]'],
    ['braces and quotes inside strings', '{"a":"}\\"{,:[","b":"\\\\"}'],
    ['a whole surrogate pair', '{"a":"\\ud83d\\ude00"}'],
    ['a value like a name', '{"a":"__proto__","b":"a"}'],
    ['constructor as a name', '{"constructor":{"prototype":{}}}'],
    ['an empty name', '{"":1}'],
    ['zeros with an exponent', '[0e-400, -0.0E+400, 0]'],
    ['the smallest and the largest number', '[5e-324, -1.7976931348623157e308]'],
    ['400 digits after the point', `[0.1${'0'.repeat(400)}1]`],
    ['strings like numbers', '{"1e-400":"1e400"}'],
  ]
  for (const [sentence, text] of accepted) {
    it(`accepts ${sentence}`, () => expect(parseJson(bytes(text))).to.deep.equal(JSON.parse(text)))
  }

  it('does not quote the body in its message', () => {
    expect(() => parseJson(bytes('{"password": hunter2}')))
      .to.throw(PlatformError)
      .with.property('message')
      .that.does.not.include('hunter')
  })
})
