# Octets to values and back by Perl's Net::AMQP, for test_net_amqp.py.
#
# usage: perl net_amqp.pl SPEC.xml < lines of JSON > lines of JSON
#   {"read": HEX}                       -> {"name": ..., "channel": ..., "fields": {...}, "hex": HEX}
#   {"class": "Basic", "method": "Publish", "channel": 1, "fields": {...}}  -> {"hex": HEX}
#   {"class": "Basic", "method": "ContentHeader", "body_size": 3, ...}      -> {"hex": HEX}
# Values: {"s": HEX} octets, {"i": N} number, {"T": N} timestamp, {"t": 0} boolean,
# {"F": {HEX: value}} table, {"A": [...]} array. What is read has octets for numbers, too: Perl
# does not tell them apart.
use strict;
use warnings;
use JSON::PP;
use Net::AMQP;

my $json = JSON::PP->new->canonical->allow_bignum;

sub told {
    my $value = shift;
    return undef unless defined $value;
    return { A => [ map { told($_) } @$value ] } if ref $value eq 'ARRAY';
    return { F => { map { unpack('H*', $_) => told($value->{$_}) } keys %$value } }
        if ref $value eq 'HASH';
    return { s => unpack('H*', "$value") };
}

sub meant {
    my $value = shift;
    my ($kind) = keys %$value;
    my $what = $value->{$kind};
    return pack('H*', $what) if $kind eq 's';
    return Net::AMQP::Value::String->new(pack('H*', $what)) if $kind eq 'S';
    return Net::AMQP::Value::Integer->new($what) if $kind eq 'I';
    return Net::AMQP::Value::Timestamp->new($what) if $kind eq 'T';
    return Net::AMQP::Value::Boolean->new($what) if $kind eq 't';
    return [ map { meant($_) } @$what ] if $kind eq 'A';
    return { map { pack('H*', $_) => meant($what->{$_}) } keys %$what } if $kind eq 'F';
    return "$what";
}

Net::AMQP::Protocol->load_xml_spec($ARGV[0]);
$| = 1;
while (my $line = <STDIN>) {
    my $task = $json->decode($line);
    my %answer;
    if (defined $task->{read}) {
        my $octets = pack('H*', $task->{read});
        my ($frame) = Net::AMQP->parse_raw_frames(\$octets);
        $answer{channel} = $frame->channel;
        $answer{left} = length $octets;
        my $method = $frame->can('method_frame') ? $frame->method_frame
                   : $frame->can('header_frame') ? $frame->header_frame : undef;
        if (defined $method) {
            ($answer{name}) = ref($method) =~ m{Protocol::(.+)$};
            my @arguments = @{ $method->frame_arguments };
            while (my ($name, $type) = splice @arguments, 0, 2) {
                # Not by its accessor: close has arguments that a method of the class hides.
                $answer{fields}{$name} = told($method->{$name}) if defined $method->{$name};
            }
            $answer{body_size} = "" . $frame->body_size if $frame->can('body_size');
        }
        delete $frame->{payload} if defined $method;
        $answer{hex} = unpack('H*', $frame->to_raw_frame);
    }
    else {
        my $class = "Net::AMQP::Protocol::$task->{class}::$task->{method}";
        my %fields = map { $_ => meant($task->{fields}{$_}) } keys %{ $task->{fields} };
        my $frame = $class->new(%fields)->frame_wrap;
        $frame->channel($task->{channel});
        if ($task->{method} eq 'ContentHeader') {
            $frame->body_size($task->{body_size});
            $frame->weight(0);
        }
        $answer{hex} = unpack('H*', $frame->to_raw_frame);
    }
    print $json->encode(\%answer), "\n";
}
