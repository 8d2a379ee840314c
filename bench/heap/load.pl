# The perl load: hash entries pushed to lists, then split again.
my (%h, $n);
for my $i (1 .. 150000) {
	my $k = ($i * 7919) % 20000;
	push @{$h{$k}}, "value $i of $k";
}
for my $k (keys %h) {
	$n += scalar(split / /, $_) for @{$h{$k}};
}
print "$n\n";
