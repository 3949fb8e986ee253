import { expect } from 'chai'
import { redacted } from './redaction.ts'

describe('redacted text', () => {
  const cases: [string, string, string][] = [
    ['keeps words without secrets', 'the page /tokens answers 500', 'the page /tokens answers 500'],
    ['loses an access token', 'with eyJhbGciOi.eyJzdWIiOiIx.abc-_1 it fails', 'with *** it fails'],
    ['loses the value of a header', 'Authorization: Bearer abcdef123456', 'Authorization: Bearer ***'],
    ['loses the user part of a URL', 'postgres://app:s3cret@db/x', 'postgres://***@db/x'],
    ['loses a password in a sentence', 'I used password=hunter2; then', 'I used password=***; then'],
    ['loses a field of JSON', '{"clientSecret": "a b c", "n": 1}', '{"clientSecret": ***, "n": 1}'],
    ['loses an access key', 'key AKIAABCDEFGHIJKLMNOP', 'key ***'],
    ['loses a token of a Git host', 'ghp_0123456789abcdefghij', '***'],
    ['loses an access token behind a hyphen', 'token-eyJhbGciOi.eyJzdWIiOiIx.abc', 'token-***'],
    ['loses an access token behind what is none', 'eyJ.a.eyJhbGciOi.eyJzdWIi.abc x', 'eyJ.a.*** x'],
    ['keeps words that only look like one', 'heyJude.andso and eyJ.on', 'heyJude.andso and eyJ.on'],
    [
      'loses each private key and keeps what is between',
      'a -----BEGIN PRIVATE KEY-----x-----END PRIVATE KEY----- b -----BEGIN RSA PRIVATE KEY-----y-----END RSA PRIVATE KEY----- c',
      'a *** b *** c',
    ],
    [
      'loses a private key however long it is',
      `a -----BEGIN PRIVATE KEY-----${'x'.repeat(20_000)}-----END PRIVATE KEY----- b`,
      'a *** b',
    ],
    ['loses a private key whose end is missing', 'a -----BEGIN EC PRIVATE KEY-----\nMHc\nx', 'a ***'],
    ['loses a secret of a query', 'https://x.test/?a=1&api_key=q1w2&b=2', 'https://x.test/?a=1&api_key=***&b=2'],
  ]
  for (const [title, text, expected] of cases) it(title, () => expect(redacted(text)).to.equal(expected))

  it('changes nothing the second time', () => {
    for (const [, text] of cases) expect(redacted(redacted(text))).to.equal(redacted(text))
  })
})
