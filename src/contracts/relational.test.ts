import { expect } from 'chai'
import {
  archiveServerName,
  connectionForms,
  engineHost,
  isRefusedParameter,
  recoveryWindowObstacle,
} from './relational.ts'

describe('engineHost, connectionForms, archiveServerName and parameters', () => {
  it('use the Service of the engine', () => {
    expect(engineHost('home', 'orders')).to.equal('relc-orders-rw.home.svc')
  })

  it('accept the end of a snapshot as recovery time, even after archiving has stopped', () => {
    const archive = {
      archiving: 'Failing',
      firstRecoverableAt: '2026-01-01T08:00:00Z',
      archivingStoppedAt: '2026-01-01T09:00:00Z',
    }
    const outside = (target: string) =>
      recoveryWindowObstacle(target, '2026-01-01T10:00:00Z', archive, '2026-01-01T12:00:00Z')
    expect(outside('2026-01-01T10:00:00Z')).to.equal(undefined)
    expect(outside('2026-01-01T11:00:00Z')).to.include({
      earliest: '2026-01-01T10:00:00Z',
      latest: '2026-01-01T10:00:00Z',
    })
  })

  it('escape special characters of a password in each form', () => {
    const forms = connectionForms({ host: 'h', port: 5432, database: 'app', username: 'a b', password: 'p@/?&;"x' })
    expect(new URL(forms.uri).password).to.equal(encodeURIComponent('p@/?&;"x'))
    expect(new URL(forms.jdbc.replace('jdbc:', '')).searchParams.get('password')).to.equal('p@/?&;"x')
    expect(forms.adoNet).to.contain('Username="a b";Password="p@/?&;""x";')
  })

  it('put an IPv6 address into brackets', () => {
    const { uri } = connectionForms({ host: '2001:db8::1', port: 5432, database: 'a', username: 'a', password: 'a' })
    expect(uri).to.equal('postgresql://a:a@[2001:db8::1]:5432/a?sslmode=require')
  })

  it('use another archive for a recreated database', () => {
    expect(archiveServerName('relc-orders', 'aaaaaaaa-1111')).not.to.equal(
      archiveServerName('relc-orders', 'bbbbbbbb-1111'),
    )
  })

  // Set by CloudNativePG itself, which refuses a Cluster with one of them (`configuration.go`).
  const itsOwn = [
    ...['log_rotation_age', 'log_rotation_size', 'log_truncate_on_rotation', 'recovery_min_apply_delay'],
    ...['synchronized_standby_slots', 'syslog_sequence_numbers', 'syslog_split_messages', 'temp_tablespaces'],
  ]
  for (const name of [
    'archive_command',
    'ssl',
    'ssl_ca_file',
    'recovery_target_time',
    'shared_preload_libraries',
    ...itsOwn,
  ]) {
    it(`reject the parameter ${name}`, () => expect(isRefusedParameter(name)).to.equal(true))
  }
  for (const name of ['work_mem', 'max_connections', 'log_statement']) {
    it(`accept the parameter ${name}`, () => expect(isRefusedParameter(name)).to.equal(false))
  }
})
